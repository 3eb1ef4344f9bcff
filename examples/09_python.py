"""A model in Python: arrays in and out, memory that is bound once, and the errors.

Needs the package: pip install . at the project's root (docs/python.md).
"""

import dyn
import numpy as np

MODEL = """
dyn 1
dim N in 1..4096
graph classify(x: f32[N, 24], w: f32[24, 10]) -> (p: f32[N, 10]) {
  p = softmax(matmul(x, w)) axis=1
  return p
}
"""


def main() -> None:
    graph = dyn.Graph.from_text(MODEL, threads=1)  # Graph.load reads a .dyn or .onnx file
    print(graph)
    random = np.random.default_rng(7)
    w = random.normal(size=(24, 10)).astype(np.float32)

    # Any length, and the arrays are not copied. A tensor of torch would do as well.
    for rows in (1, 3, 50):
        x = random.normal(size=(rows, 24)).astype(np.float32)
        p = graph.run({"x": x, "w": w})["p"]
        print(rows, "rows, largest probability", p.max())
        assert p.shape == (rows, 10) and np.allclose(p.sum(axis=1), 1, atol=1e-5)

    # Memory that is bound once: a run reads and writes it, and allocates nothing.
    x = np.zeros((8, 24), np.float32)
    p = np.zeros((8, 10), np.float32)
    call = dyn.Call(graph)
    call.set_input("x", x)
    call.set_input("w", w)
    call.set_output("p", p)
    for _ in range(3):
        x[:] = random.normal(size=x.shape)
        call.run()
        assert np.allclose(p, graph.run({"x": x, "w": w})["p"], atol=1e-6)

    # Errors say what, where and what to do.
    try:
        graph.run({"x": x.astype(np.float64), "w": w})
    except dyn.UserError as error:
        print(error.kind, "error:", error)
    else:
        raise AssertionError("f64 was taken for f32")


if __name__ == "__main__":
    main()
