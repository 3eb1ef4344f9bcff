"""A model made in Python, with an operator of its own that dyn's operators define: it is fused and compiled like any other.

Needs the package: pip install . at the project's root (docs/python.md).
"""

from typing import Any

import dyn
import numpy as np
from dyn import functions as F


def gated(b: dyn.Builder, inputs: list[dyn.Value], attributes: dict[str, Any]) -> dyn.Value:
    """x and a gate of as many columns stand beside each other."""
    (both,) = inputs
    *rows, columns = both.dims
    x, gate = F.split(both, results=2, axis=-1, sizes=[columns // 2, columns // 2])
    return x * F.sigmoid(attributes["slope"] * gate)


OPERATORS = [dyn.Operator("demo", "gated", ["both"], attributes={"slope": 1.0}, definition=gated)]


def classifier(layers: list[np.ndarray[Any, np.dtype[np.float32]]]) -> dyn.Builder:
    """Layers of weights, as a checkpoint may have them; the number of rows is known at each run alone."""
    b = dyn.Builder("classifier", OPERATORS)
    n = b.dim("N", 1, 4096)
    hidden = b.input("x", "f32", (n, layers[0].shape[0]))
    for number, weights in enumerate(layers[:-1]):
        hidden = F.op("demo::gated", hidden @ b.weight(f"w{number}", weights), slope=1.5)
    scores = (hidden @ b.weight("last", layers[-1]) / 4).named("scores")
    b.output("p", F.softmax(scores, axis=-1))
    _, best = F.topk(scores, k=1)
    b.output("best", best)
    return b


def main() -> None:
    random = np.random.default_rng(7)
    shapes = [(24, 64), (32, 40), (20, 5)]
    layers = [random.normal(0, 0.3, shape).astype(np.float32) for shape in shapes]
    b = classifier(layers)
    graph = b.load(threads=2)
    print(graph)
    print(b.to_text())

    # The same model from its text, which anybody can keep.
    read = dyn.Graph.from_memory(b.to_text(), {"weights.safetensors": b.weights()}, threads=2)
    for rows in (1, 7, 300):
        x = random.normal(size=(rows, 24)).astype(np.float32)
        outputs, same = graph.run({"x": x}), read.run({"x": x})
        assert all((outputs[name] == same[name]).all() for name in outputs)
        print(f"{rows} rows: class {outputs['best'][0, 0]} first")

    # What is wrong is raised where it is written.
    try:
        F.matmul(dyn.Builder().input("x", "f32", (3, 24)), 1, transpose_b=True)
    except dyn.ModelError as error:
        print(error)


if __name__ == "__main__":
    main()
