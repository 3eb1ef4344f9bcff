"""Operators of a Python program that dyn's own operators define, by a dyn.Builder."""

import concurrent.futures
import gc
import threading

import dyn
import numpy
import pytest
from dyn import functions as F
from models import floats
from test_builder import same_bits
from test_operators import Trouble, check_goes_with_its_graph, graph_of, onnx_of_own


def swish(b, inputs, attributes):
    (x,) = inputs
    return x * F.sigmoid(attributes["alpha"] * x)


def defined(definition, **more):
    return dyn.Operator("my", "op", ["x"], definition=definition, **more)


SWISH = defined(swish, attributes={"alpha": 1.0})


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_definition_is_its_text(rng, device):
    graph = graph_of("my::op(x + 1.0) alpha=0.7", [SWISH], device=device)
    written = graph_of("(x + 1.0) * sigmoid(0.7 * (x + 1.0))", [], device=device)
    assert repr(SWISH) == "<dyn.Operator my::op(x) alpha=1.0: a definition>"
    if device == "cpu":
        assert len(graph.kernels()) == 1
    for rows in (3, 1, 131):
        x = floats(rng, rows, 5)
        same_bits(graph.run({"x": x})["y"], written.run({"x": x})["y"])


def test_definitions_use_each_other_sizes_and_weights(rng):
    """And a kernel that stands beside a definition is not called."""

    def centred(b, inputs, attributes):
        (x,) = inputs
        rows, columns = x.dims
        flat = b.op("reshape", x, shape=[rows * columns])
        again = F.reshape(flat, shape=(rows, columns)).named("y")  # gives way to the model's name
        return [again - F.reduce_mean(x, axes=[attributes["axis"]], keepdims=True) + b.splat("zero", "f32", [1], 0)]

    def both(b, inputs, attributes):
        assert attributes == {"flip": True, "how": "sum", "list": [3, 4]}
        hidden = b.op("my::centred", inputs[0], axis=0)
        return b.op("my::op", hidden, alpha=0.5), 2.5

    def kernel(inputs, outputs, attributes):
        raise AssertionError

    operators = [
        dyn.Operator("my", "centred", ["x"], attributes={"axis": int}, definition=centred),
        dyn.Operator("my", "both", ["x", "y"], 1, 2, attributes={"flip": False, "how": "sum", "list": [3, 4]}, definition=both, kernel=kernel),
        SWISH,
    ]
    text = "dyn 1\ndim N in 1..90\ngraph own(x: f32[N, 5]) -> (y: f32[N, 5], n: f32[]) {\n  y, n = my::both(x) flip=true\n  return y, n\n}\n"
    graph = dyn.Graph.from_text(text, operators=operators, device="reference")
    written = graph_of("(x - reduce_mean(x) axes=[0] keepdims=true) * sigmoid(0.5 * (x - reduce_mean(x) axes=[0] keepdims=true))", [], device="reference")
    for rows in (4, 61):
        x = floats(rng, rows, 5)
        outputs = graph.run({"x": x})
        numpy.testing.assert_allclose(outputs["y"], written.run({"x": x})["y"], rtol=1e-5, atol=1e-6)
        assert outputs["n"] == 2.5


def test_nodes_of_an_onnx_file(rng):
    def scale(b, inputs, attributes):
        return attributes["factor"] * inputs[0]

    own = [dyn.Operator("own", name, ["x"], attributes=attributes, definition=definition) for name, attributes, definition in (
        ("scale", {"factor": 2.0}, scale), ("swish", {"alpha": 1.0}, swish))]
    session = dyn.InferenceSession(onnx_of_own(), operators=own)
    for rows in (4, 31):
        x = 3 * floats(rng, rows, 5)
        numpy.testing.assert_allclose(session.run(None, {"x": x / 3})[0], x / (1 + numpy.exp(-0.5 * x)), rtol=1e-5, atol=1e-5)


def test_in_a_builder(rng):
    b = dyn.Builder("own", [SWISH])
    x = b.input("x", "f32", (b.dim("N", 0, 4096), 5))
    b.output("y", b.op("my::op", x, alpha=3))
    assert "y = " not in b.to_text() and "3.0 * x" in b.to_text()
    given = floats(rng, 8, 5)
    same_bits(b.load().run({"x": given})["y"], graph_of("x * sigmoid(3.0 * x)", []).run({"x": given})["y"])


def test_loads_of_several_threads(rng):
    """Each takes the GIL for its definition, while another's goes on."""
    inside, threads = threading.Barrier(3), set()

    def together(b, inputs, attributes):
        threads.add(threading.get_ident())
        inside.wait(timeout=60)
        return inputs[0] + attributes["add"]

    x = floats(rng, 4, 5)
    own = defined(together, attributes={"add": 1.0})
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for number, graph in enumerate(pool.map(lambda number: graph_of(f"my::op(x) add={number}.0", [own]), range(3))):
            numpy.testing.assert_array_equal(graph.run({"x": x})["y"], x + number)
    assert len(threads) == 3


def test_exceptions():
    raises = []

    def definition(b, inputs, attributes):
        raise raises.pop()

    def in_builder():
        b = dyn.Builder("own", [defined(definition)])
        b.op("my::op", b.input("x", "f32", (3,)), result="y")

    own = dyn.Operator("own", "scale", ["x"], attributes={"factor": 1.0}, definition=definition)
    swishes = dyn.Operator("own", "swish", ["x"], attributes={"alpha": 1.0}, definition=swish)
    loads = (
        (lambda: graph_of("my::op(x)", [defined(definition)]), r"definition of my::op.*my::op \(line 5"),
        (in_builder, "definition of my::op.*my::op 'y'"),
        (lambda: dyn.InferenceSession(onnx_of_own(), operators=[own, swishes]), "definition of own::scale.*the_scale"),
    )
    for load, where in loads:
        raises.append(trouble := Trouble("no such row"))
        with pytest.raises(dyn.UserError, match=f"(?s)Trouble: no such row.*{where}") as caught:
            load()
        assert caught.value.__cause__ is trouble and trouble.__traceback__ is not None
        raises.append(dyn.UnsupportedError("not for these", ["a place"]))
        with pytest.raises(dyn.UnsupportedError, match=f"(?s)not for these.*{where}") as caught:
            load()
        assert caught.value.where[0] == "a place"
        raises.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            load()


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (lambda b, inputs, attributes: None, "it gives None in place of a dyn.Value"),
        (lambda b, inputs, attributes: [inputs[0], "x"], "it gives a str in place of a dyn.Value"),
        (lambda b, inputs, attributes: dyn.Value.__new__(dyn.Value), "it gives a dyn._dyn.Value in place"),
        (lambda b, inputs, attributes: b, "it gives a dyn._dyn.Builder in place"),
        (lambda b, inputs, attributes: dyn.Builder().input("z", "f32", (3,)), "`z` is a value of another model"),
        (lambda b, inputs, attributes: inputs[0] + dyn.Builder().input("z", "f32", (3,)), "`z` is a value of another model"),
        (lambda b, inputs, attributes: F.matmul(inputs[0], b.splat("w", "f32", (3, 2), 1)), "3.*in matmul"),
        (lambda b, inputs, attributes: b.op("my::op", *inputs), "defined by each other more than 32 deep"),
        (lambda b, inputs, attributes: b.input("z", "f32", [1]), "adds an input to the model"),
        (lambda b, inputs, attributes: b.dim("K"), "adds a dim to the model"),
        (lambda b, inputs, attributes: b.weight("w", [1.0]), "adds a weight of a file to the model"),
        (lambda b, inputs, attributes: b.output("z", inputs[0]), "adds an output to the model"),
        (lambda b, inputs, attributes: b.to_text(), "adds its own text, or a load, to the model"),
        (lambda b, inputs, attributes: b.load(), "adds its own text, or a load, to the model"),
        (lambda b: b, "TypeError: .* takes 1 positional argument"),
    ],
)
def test_definitions_that_answer_nonsense(definition, words):
    with pytest.raises(dyn.Error, match=f"(?s){words}.*definition of my::op"):
        graph_of("my::op(x)", [defined(definition)])


@pytest.mark.parametrize("count", [0, 2])
def test_definitions_with_another_number_of_results(count):
    with pytest.raises(dyn.ModelError, match=rf"(?s)the definition of my::op gives {count} result\(s\), not 1.*y = my::op\(x\)"):
        graph_of("my::op(x)", [defined(lambda b, inputs, attributes: inputs * count)])


def test_what_a_definition_keeps():
    kept = []

    def keep(b, inputs, attributes):
        kept.append((b, inputs[0], inputs[0].dims[0], F.relu(inputs[0])))
        return kept[0][1] if len(kept) > 1 else kept[-1][3]

    graph = graph_of("my::op(x)", [defined(keep)])
    b, x, n, y = kept[0]
    uses = (lambda: b.op("relu", x), lambda: x + 1, lambda: x.dims, lambda: x.named("z"), lambda: n + 1, lambda: b.splat("s", "f32", [1], 0), lambda: b.load())
    for use in (*uses, lambda: F.add(y, y), lambda: dyn.Builder().output("y", y)):
        with pytest.raises(dyn.UserError, match="of use until it returns"):
            use()
    assert "of use until it returns" in repr(x) and "of use until it returns" in repr(b)
    with pytest.raises(dyn.UserError, match="(?s)of use until it returns.*definition of my::op"):
        graph_of("my::op(x)", [defined(keep)])
    graph.close()
    del graph
    gc.collect()
    with pytest.raises(dyn.UserError, match="of use until it returns"):
        str(n)


def test_definitions_go_with_their_graphs():
    check_goes_with_its_graph(lambda b, inputs, attributes: F.relu(inputs[0]), defined, 1)


def test_definitions_that_cannot_be():
    for make, words in (
        (lambda: defined(3), "definition is a function, not an int"),
        (lambda: defined(swish, expression="x"), "a definition and an expression"),
    ):
        with pytest.raises(dyn.UserError, match=words):
            make()
