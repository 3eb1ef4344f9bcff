"""dyn.Builder makes the models that texts are read to."""

import gc
import inspect
import pathlib
import re
import threading
import weakref

import dyn
import numpy
import pytest
from dyn import functions as F
from models import floats

ROOT = pathlib.Path(__file__).parents[2]


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_a_model_is_what_its_text_says_and_runs_so(rng):
    elements = floats(rng, 24, 5)
    b = dyn.Builder("net")
    n = b.dim("N", 1, 64)
    x = b.input("x", "f32", (n, 24))
    w = b.weight("w", elements)
    product = F.matmul(x, w)
    assert (product.dtype, product.dims, product.rank) == ("f32", (n, 5), 2)
    assert (repr(product), repr(b)) == ("<dyn.Value matmul: f32[N, 5]>", "<dyn.Builder net>")
    b.output("y", F.relu(product - 1).named("above"))
    b.output("rows", b.op("reshape", x, shape=(n * 3, 8), result="thirds"))
    graph = b.load(cache_dir="none")
    text = (
        'dyn 1\ndim N in 1..64\nweights "weights.safetensors"\n\n'
        "graph net(x: f32[N, 24]) -> (y: f32[N, 5], rows: f32[N * 3, 8]) {\n"
        "  matmul = matmul(x, w: f32[24, 5])\n  sub = matmul - 1.0\n  above = relu(sub)\n"
        "  thirds = reshape(x) shape=[N * 3, 8]\n  return above, thirds\n}\n"
    )
    assert b.to_text() == text
    assert repr(graph).startswith("<dyn.Graph of the builder net: (x: f32[N, 24]) -> ")
    read = dyn.Graph.from_memory(text, {"weights.safetensors": b.weights()}, cache_dir="none")
    for rows in (1, 7, 64):
        given = floats(rng, rows, 24)
        built, other = graph.run({"x": given}), read.run({"x": given})
        numpy.testing.assert_allclose(built["y"], numpy.maximum(given @ elements - 1, 0), rtol=1e-4, atol=1e-4)
        same_bits(built["y"], other["y"])
        same_bits(built["rows"], given.reshape(-1, 8))
    second = b.load(device="reference")
    numpy.testing.assert_allclose(second.run({"x": given})["y"], built["y"], rtol=1e-4, atol=1e-4)


#: By the text of the node: attributes of every kind, numbers and operators of Python. Each operand is of another shape, so that a misplaced one shows.
NODES = {
    "x + m": lambda b, n, x, m, i: x + m,
    "x - 2.0": lambda b, n, x, m, i: x - 2,
    "2.0 - x": lambda b, n, x, m, i: 2 - x,
    "x - m": lambda b, n, x, m, i: x - m,
    "m * x": lambda b, n, x, m, i: m * x,
    "1.5 * x": lambda b, n, x, m, i: numpy.float32(1.5) * x,
    "x / m": lambda b, n, x, m, i: x / m,
    "3.0 / x": lambda b, n, x, m, i: numpy.int64(3) / x,
    "i + 7": lambda b, n, x, m, i: i + numpy.uint8(7),
    "neg(x)": lambda b, n, x, m, i: -x,
    "matmul(x, m) transpose_b=true": lambda b, n, x, m, i: F.matmul(x, m, transpose_b=True),
    "matmul(m, transpose)": lambda b, n, x, m, i: F.matmul(m, F.transpose(x, perm=[1, 0]), transpose_b=numpy.False_),
    "softmax(x) axis=-2": lambda b, n, x, m, i: F.softmax(x, axis=-2),
    "softmax(x)": lambda b, n, x, m, i: b.op("softmax", x, axis=None),
    "reshape(x) shape=[N * 2, 12]": lambda b, n, x, m, i: F.reshape(x, shape=(n * 2, numpy.int32(12))),
    "cast(x) dtype=f64": lambda b, n, x, m, i: F.cast(x, dtype=numpy.float64),
    "cast(x) dtype=bf16": lambda b, n, x, m, i: F.cast(x, dtype="bf16"),
    "cast(x) dtype=i32": lambda b, n, x, m, i: F.cast(x, dtype=numpy.dtype("int32")),
    "slice(x) axes=[0, 1] starts=[1, 3] ends=[N, 9] steps=[1, 2]": lambda b, n, x, m, i: F.slice(
        x, axes=[0, 1], starts=[1, 3], ends=[n, 9], steps=(1, 2)
    ),
    "pad(x) before=[0, 1] after=[N, 0]": lambda b, n, x, m, i: F.pad(x, before=[0, 1], after=[n, 0]),
    "rms_norm(x, reshape)": lambda b, n, x, m, i: F.rms_norm(x, F.reshape(m, shape=[24])),
    "concat(x, m, x) axis=0": lambda b, n, x, m, i: F.concat(x, m, x, axis=0),
    "where(less, x, 0.5)": lambda b, n, x, m, i: F.where(F.less(x, m), x, 0.5),
    "x + 0.1": lambda b, n, x, m, i: x + dyn.Value.number("f32", numpy.float64(0.1)),
    "gather(x, i) axis=1": lambda b, n, x, m, i: F.gather(x, i, axis=1),
    "gelu(x) approximate=tanh": lambda b, n, x, m, i: F.gelu(x, approximate="tanh"),
    "reduce_sum(x) axes=[1] keepdims=false": lambda b, n, x, m, i: F.reduce_sum(x, axes=[1], keepdims=False),
}


@pytest.mark.parametrize("node", NODES)
def test_nodes_print_as_they_are_written(rng, node):
    b = dyn.Builder("own")
    n = b.dim("N", 1, 50)
    x, m, i = b.input("x", "f32", (n, 24)), b.input("m", numpy.float32, [1, 24]), b.input("i", "i64", (3,))
    y = NODES[node](b, n, x, m, i)
    b.output("y", y)
    text = b.to_text()
    assert re.search(rf"\n  {y.name} = {re.escape(node)}\n  return {y.name}\n", text), text
    graph, read = b.load(device="reference"), dyn.Graph.from_text(text, device="reference")
    given = {"x": floats(rng, 6, 24), "m": floats(rng, 1, 24), "i": numpy.array([4, -1, 17])}
    built, other = graph.run(given)["y"], read.run(given)["y"]
    same_bits(*(own.numpy() if isinstance(own, dyn.Tensor) else own for own in (built, other)))


def test_a_product_by_its_operator(rng):
    b = dyn.Builder()
    x = b.input("x", "f32", (b.dim(), 24))
    b.output("y", x @ b.weight("w", [[float(row - 3 * column) for column in range(5)] for row in range(24)]))
    given = floats(rng, 3, 24)
    expected = given @ (numpy.arange(24)[:, None] - 3 * numpy.arange(5)).astype(numpy.float32)
    numpy.testing.assert_allclose(b.load().run({"x": given})["y"], expected, rtol=1e-4, atol=1e-3)


def test_several_results(rng):
    b = dyn.Builder("parts")
    x = b.input("x", "f32", (b.dim("N", 1, 9), 24))
    left, right = F.split(x, results=2, axis=1, sizes=[10, 14])
    _, places = F.topk(right, k=2, axis=1)
    alike = b.ops("split", x, results=2, axis=1, sizes=[23, 1])
    for name, value in (("left", left), ("places", places), ("last", alike[1])):
        b.output(name, value)
    given = floats(rng, 4, 24)
    outputs = b.load().run({"x": given})
    same_bits(outputs["left"], given[:, :10])
    same_bits(outputs["last"], given[:, 23:])
    numpy.testing.assert_array_equal(outputs["places"], numpy.argsort(-given[:, 10:], axis=1)[:, :2])
    with pytest.raises(dyn.ModelError, match="any number of results; say how many"):
        dyn.functions.ops("split", dyn.Builder().input("x", "f32", (4,)), axis=0, sizes=[2, 2])


def test_there_is_a_function_for_each_operator():
    header = (ROOT / "include/dyn/functions.hpp").read_text()
    operators = set(re.findall(r"inline Values? (\w+)\(", header))
    assert operators == {name for name, own in vars(F).items() if inspect.isfunction(own)}
    assert len(operators) > 90
    with pytest.raises(TypeError, match="axs"):
        F.softmax(1, axs=0)


def test_weights_of_all_kinds(rng, tmp_path):
    b = dyn.Builder("made")
    x = b.input("x", "f32", (b.dim("N", 1, 8), 6))
    turned = floats(rng, 5, 6).T
    table = rng.integers(-4, 9, (7, 3), numpy.int8)
    tensor = dyn.Tensor("bf16", (2,))
    names = {"w": b.weight("w", turned), "table": b.weight("table", table), "half": b.weight("half", tensor)}
    assert {name: (own.dtype, own.dims) for name, own in names.items()} == {"w": ("f32", (6, 5)), "table": ("i8", (7, 3)), "half": ("bf16", (2,))}
    b.output("y", x @ names["w"] + b.splat("half_of_all", "f32", [1], 0.5) + b.random("noise", "f32", (5,), 11))
    b.output("t", names["table"])
    b.output("h", names["half"])
    given = floats(rng, 3, 6)
    outputs = b.load().run({"x": given})
    same_bits(outputs["t"], table)
    assert "noise: f32[5] = random 11" in b.to_text()
    (tmp_path / "kept.safetensors").write_bytes(b.weights())

    other = dyn.Builder("read")
    x = other.input("x", "f32", (other.dim("N", 1, 8), 6))
    other.weight_file("kept.safetensors")
    other.output("y", x @ other.weight("w", "f32", (6, 5)) + other.splat("half_of_all", "f32", [1], 0.5) + other.random("noise", "f32", (5,), 11))
    same_bits(other.load(tmp_path).run({"x": given})["y"], outputs["y"])
    with pytest.raises(dyn.Error, match="kept.safetensors"):
        other.load()


def test_memory_of_weights_is_kept_until_the_last_load(rng):
    class Array(numpy.ndarray):
        """One that a weak reference can see."""

    array = floats(rng, 300, 20).view(Array)
    expected, seen = array.copy(), weakref.ref(array)
    b = dyn.Builder("kept")
    value = b.weight("w", array)
    b.output("y", value)
    del array
    gc.collect()
    assert seen() is not None
    for _ in range(2):
        graph = b.load()
        noise = [floats(rng, 300, 20) for _ in range(20)]  # would be where the array was
        same_bits(graph.run({})["y"], numpy.asarray(expected))
        del noise
    del b
    gc.collect()
    assert seen() is not None and value.dims == (300, 20)
    del value
    gc.collect()
    assert seen() is None
    same_bits(graph.run({})["y"], numpy.asarray(expected))


def test_dims():
    b = dyn.Builder("sizes")
    n, m = b.dim("N", 2, 96, multiple=2, hint=32), b.dim("M")
    b.output("y", F.expand(b.input("x", "f32", (n, 1)), shape=[n, m + 3]))
    b.output("z", b.input("last", "f32", (m, dyn.DimExpr.min(n // 2, m), 4)))
    text = b.to_text()
    assert "dim N in 2..96 multiple 2 hint 32\ndim M\n" in text and "last: f32[M, min(" in text
    (own, _) = b.load().dims
    assert (own.low, own.high, own.divisor, own.hint) == (2, 96, 2, 32)
    assert n + 1 == 1 + n and str(n * m) == "N * M"
    assert dyn.require_equal(n, n, "sizes") is None
    with pytest.raises(dyn.UserError, match="shape functions alone"):
        dyn.require_equal(n, m, "sizes")


def test_states_of_a_session(rng):
    b = dyn.Builder("totals")
    s, p, c = b.dim("S", 1, 8), b.dim("P", 0, 8), b.dim("C", 1, 8)
    joined = F.append(b.state("seen", "f32", (c, 2)), b.input("x", "f32", (s, 2)), at=p, axis=0)
    b.output("y", F.reduce_sum(F.slice(joined, axes=[0], starts=[0], ends=[p + s]), axes=[0], keepdims=False))
    session = dyn.Session(b.load(), {"C": 8})
    steps = [floats(rng, rows, 2) for rows in (1, 3, 2)]
    for count, step in enumerate(steps, 1):
        numpy.testing.assert_allclose(session.run({"x": step})["y"], numpy.concatenate(steps[:count]).sum(axis=0), rtol=1e-5, atol=1e-5)


class Trouble(Exception):
    pass


def test_operators_of_the_program(rng):
    raises = []

    def shape(inputs, attributes):
        if raises:
            raise raises.pop()
        return inputs[0]

    def kernel(inputs, outputs, attributes):
        if raises:
            raise raises.pop()
        numpy.multiply(inputs[0], attributes["factor"], out=outputs[0])

    scale = dyn.Operator("my", "scale", ["x"], attributes={"factor": 2.0}, shape=shape, kernel=kernel)
    swish = dyn.Operator("my", "swish", ["x"], expression="x * sigmoid(x)")
    b = dyn.Builder("own", [scale, swish])
    x = b.input("x", "f32", (b.dim("N", 0, 50), 5))
    y = F.op("my::scale", F.op("my::swish", x + 1), factor=-3)
    assert y.name == "scale"
    b.output("y", y)
    graph = b.load(threads=2)
    given = floats(rng, 7, 5)
    numpy.testing.assert_allclose(graph.run({"x": given})["y"], -3 * (given + 1) / (1 + numpy.exp(-given - 1)), rtol=1e-5, atol=1e-5)
    raises.append(trouble := Trouble("no such row"))
    with pytest.raises(dyn.UserError, match="(?s)Trouble: no such row.*kernel of my::scale.*'scale'") as caught:
        graph.run({"x": given})
    assert caught.value.__cause__ is trouble
    with pytest.raises(dyn.UserError, match="when it is made, not when it is loaded"):
        b.load(operators=[scale])

    other = dyn.Builder("other", [scale])
    x = other.input("x", "f32", (3,))
    raises.append(trouble := Trouble("no such shape"))
    with pytest.raises(dyn.UserError, match="(?s)Trouble: no such shape.*shape function of my::scale.*in my::scale 'z'") as caught:
        other.op("my::scale", x, result="z")
    assert caught.value.__cause__ is trouble


def test_a_builder_at_work_is_left_alone():
    """By the functions of its operators, and by other threads while it loads."""
    refused = []

    def shape(inputs, attributes):
        for use in uses():
            try:
                use()
            except dyn.UserError as error:
                refused.append(str(error))
        return inputs[0]

    scale = dyn.Operator("my", "scale", ["x"], shape=shape, kernel=lambda inputs, outputs, attributes: None)
    b = dyn.Builder("busy", [scale])
    n = b.dim("N")
    x = b.input("x", "f32", (n,))

    def uses():
        return (lambda: b.dim("M"), lambda: x + 1, lambda: x.dims, lambda: n + 1, lambda: b.to_text(), lambda: b.load(), lambda: F.relu(x), lambda: x.named("z"))

    y = b.op("my::scale", x)
    assert len(refused) == 8 and all("at work" in words for words in refused) and "at work" not in repr(x)
    b.output("y", y)
    refused.clear()

    def progress(stage, done, total):
        def other():
            try:
                assert "at work" in repr(x) and "at work" in repr(b)
                x.dims  # noqa: B018
            except dyn.UserError as error:
                refused.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    b.load(progress=progress)
    assert refused and all("at work" in words for words in refused)
    assert x.dims == (n,)


def test_errors_name_the_node_and_end_the_building():
    b = dyn.Builder("net")
    x = b.input("x", "f32", (b.dim("N", 1, 8), 3))
    with pytest.raises(dyn.ModelError, match="3.*5") as caught:
        b.op("matmul", x, b.splat("w", "f32", (5, 2), 1), result="product")
    assert caught.value.where == ("matmul 'product'",) and "line" not in str(caught.value)
    for use in (lambda: F.relu(x), lambda: b.output("y", x), lambda: b.load(), lambda: b.to_text()):
        with pytest.raises(dyn.UserError, match="after an error"):
            use()
    assert x.dtype == "f32"


def own(dtype="f32", shape=(2, 3)):
    return dyn.Builder("own").input("x", dtype, shape)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda b, n, x: b.op("rleu", x), "unknown operator `rleu`; did you mean `relu`?"),
        (lambda b, n, x: b.op(), "the first argument is the name of an operator, a str"),
        (lambda b, n, x: F.op(x), "the first argument is the name of an operator"),
        (lambda b, n, x: b.op("softmax", x, axs=1), "has no attribute `axs`; did you mean `axis`"),
        (lambda b, n, x: F.softmax(x, axis="last"), "attribute axis must be an integer"),
        (lambda b, n, x: F.softmax(x, axis={}), "(?s)it is a bool, a number.*not a dict.*attribute 'axis'"),
        (lambda b, n, x: F.softmax(x, axis=numpy.ones(3)), "not a numpy.ndarray"),
        (lambda b, n, x: F.softmax(x, axis=2**64), "more than 64 bits"),
        (lambda b, n, x: F.reshape(x, shape=[n, "M"]), "(?s)a size is an int or a dyn.DimExpr, not a str.*'shape'"),
        (lambda b, n, x: F.cast(x, dtype=complex), "there is no dtype <class 'complex'>"),
        (lambda b, n, x: F.cast(x, dtype="f32 f32"), "is no word"),
        (lambda b, n, x: x + own(), "value of another model"),
        (lambda b, n, x: F.reshape(x, shape=[own(shape=(dyn.Builder().dim("F"), 1)).dims[0]]), "belongs to another model"),
        (lambda b, n, x: n + dyn.Builder().dim("N"), "belongs to another model"),
        (lambda b, n, x: F.relu(1.0), "all its inputs are numbers"),
        (lambda b, n, x: F.ops("topk", 1.0, k=1), "all its inputs are numbers"),
        (lambda b, n, x: F.relu("x"), "an input of an operator is a dyn.Value or a number, not a str"),
        (lambda b, n, x: F.relu(None), "not None"),
        (lambda b, n, x: F.relu(dyn.Value.__new__(dyn.Value)), "not a dyn._dyn.Value"),
        (lambda b, n, x: x + 2**64, "the number 18446744073709551616 has more than 64 bits"),
        (lambda b, n, x: x + numpy.ones(3), r"takes no array beside it; weight\(name, array\) makes"),
        (lambda b, n, x: numpy.ones(3) @ x, "takes no array beside it"),
        (lambda b, n, x: own("i32") + 0.5, "a float literal stands beside i32"),
        (lambda b, n, x: dyn.Value.number("f32", 1).dtype, "a number has neither a type nor a name"),
        (lambda b, n, x: dyn.Value.number("f32", 1).named("z"), "a number has neither"),
        (lambda b, n, x: dyn.Value.number("f32", 1) + 2, "all its inputs are numbers"),
        (lambda b, n, x: dyn.Value.number("f32", "1"), "a number is an int or a float, not a str"),
        (lambda b, n, x: dyn.Value.number("f33", 1), "f33"),
        (lambda b, n, x: b.ops("relu", x, results=2), "`relu` has 1 result, here 2 are expected"),
        (lambda b, n, x: b.ops("relu", x, results=-1), "no -1 results"),
        (lambda b, n, x: b.ops("relu", x, results="two"), "the number of results is an int, not 'two'"),
        (lambda b, n, x: b.input("x", "f32", [n]), "another value is called so"),
        (lambda b, n, x: b.op("relu", x, result="x"), "another value is called so"),
        (lambda b, n, x: b.op("relu", x, result=7), "the name of a result is a str, not an int"),
        (lambda b, n, x: x.named("z"), "keeps its name"),
        (lambda b, n, x: F.relu(x).named(None), "the name of a result is a str, not None"),
        (lambda b, n, x: b.dim("max"), "cannot name a dim"),
        (lambda b, n, x: b.dim("N"), "defined twice"),
        (lambda b, n, x: b.dim("E", 4, 2), "has no values"),
        (lambda b, n, x: b.dim("E", "4"), "a dim's low is an int, not '4'"),
        (lambda b, n, x: b.dim("E", n), "a dim's low is an int, not <dyn.DimExpr N>"),
        (lambda b, n, x: b.dim(None, 1, 4), "a dim without a name has no range"),
        (lambda b, n, x: b.dim("H", 1, 4, hint=9), "the hint 9 is not a value of the dim"),
        (lambda b, n, x: b.input("m", "f32", [-1]), "is negative"),
        (lambda b, n, x: b.input("m", "f32", 3), "the dims of 'm' are a sequence of int and dyn.DimExpr, not an int"),
        (lambda b, n, x: b.input("m", "f32", "N"), "a size is an int or a dyn.DimExpr, not a str"),
        (lambda b, n, x: b.input("m", "f33", [1]), "f33"),
        (lambda b, n, x: b.input(None, "f32", [1]), "the name of an input is a str, not None"),
        (lambda b, n, x: b.input("", "f32", [1]), "cannot be empty"),
        (lambda b, n, x: b.input("m", "f32", [1] * 9), "at most 8"),
        (lambda b, n, x: b.state("s", "f32", [b.dim("F")]), "no upper bound"),
        (lambda b, n, x: b.weight("w", None), "'w'.* is None"),
        (lambda b, n, x: b.weight("w", "elements"), "the weight 'w'"),
        (lambda b, n, x: b.weight("w", numpy.array(["a"])), "the weight 'w' has elements of '<U1'"),
        (lambda b, n, x: b.weight("w", "f32", (n, 2)), "the sizes of the weight 'w' are numbers, not N"),
        (lambda b, n, x: b.weight("huge", "f32", [2**62, 4]), "more bytes than 63 bits"),
        (lambda b, n, x: b.splat("half", "i32", [2], 0.5), "cannot be 0.5"),
        (lambda b, n, x: b.random("bits", "i64", [2], 1), "random weights are floats"),
        (lambda b, n, x: b.random("bits", "f32", [2], -1), "a seed is 0 or more, not -1"),
        (lambda b, n, x: b.weight_file(None), "a file of weights is a path, not None"),
        (lambda b, n, x: (b.weight("w", [1.0]), b.weight_file("w.safetensors")), "give all in one way"),
        (lambda b, n, x: (b.output("y", x), b.output("y", x)), "defined twice"),
        (lambda b, n, x: b.output("y", "x"), "a dyn.Value or a number, not a str"),
        (lambda b, n, x: b.output(None, x), "the name of an output is a str"),
        (lambda b, n, x: b.to_text(), "the model has no outputs"),
        (lambda b, n, x: b.load(), "the model has no outputs"),
        (lambda b, n, x: b.load(thread=2), "there is no option 'thread'"),
        (lambda b, n, x: b.load(7), "a folder is a path, not an int"),
        (lambda b, n, x: (b.output("y", x), b.to_text(), x + 1), "the model is whole"),
        (lambda b, n, x: (b.output("y", x), b.load(), b.dim("L")), "the model is whole"),
        (lambda b, n, x: (b.output("y", x), b.weights(), b.output("z", x)), "the model is whole"),
        (lambda b, n, x: dyn.Builder(7), "the name of a model is a str, not an int"),
        (lambda b, n, x: dyn.Builder("net", [7]), "'operators' takes a list of dyn.Operator, not 7"),
    ],
)
def test_bad_input(use, words):
    b = dyn.Builder("net")
    n = b.dim("N", 1, 8)
    x = b.input("x", "f32", (n, 3))
    with pytest.raises(dyn.Error, match=words):
        use(b, n, x)


def test_what_is_no_builder():
    with pytest.raises(TypeError):
        dyn.Builder.__new__(dyn.Builder).dim("N")
    with pytest.raises(TypeError):
        dyn.Value()
    with pytest.raises(TypeError, match="unsupported operand"):
        own() + "x"
    with pytest.raises(TypeError, match="not supported"):
        own() < 1  # noqa: B015
