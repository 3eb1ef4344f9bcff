"""Operators of a Python program: expressions, and kernels with shape functions."""

import concurrent.futures
import gc
import pathlib
import re
import subprocess
import threading
import weakref

import dyn
import numpy
import pytest
from models import TOTALS, floats

ROOT = pathlib.Path(__file__).parents[2]
SWISH = dyn.Operator("my", "swish", ["x"], attributes={"alpha": 1.0}, expression="x * sigmoid(alpha * x)")


def swish(x, alpha=1.0):
    return x / (1 + numpy.exp(-alpha * x))


def graph_of(call, operators, inputs="x: f32[N, 5]", output="f32[N, 5]", **options):
    """A graph with the dims N and M that gives `call`, which uses `inputs`."""
    text = f"dyn 1\ndim N in 0..4096\ndim M in 1..4096\ngraph own({inputs}) -> (y: {output}) {{\n  y = {call}\n  return y\n}}\n"
    return dyn.Graph.from_text(text, operators=operators, threads=2, **options)


def like_the_first(inputs, attributes):
    return inputs[0]


def doubling(inputs, outputs, attributes):
    numpy.multiply(inputs[0], 2, out=outputs[0])


def kernel_of(function, shape=like_the_first, **more):
    return dyn.Operator("my", "op", ["x"], shape=shape, kernel=function, **more)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_expression_is_compiled_with_the_rest(rng, device):
    graph = graph_of("my::swish(x + 1.0) alpha=0.7", [SWISH], device=device)
    for rows in (3, 1, 131):
        x = floats(rng, rows, 5)
        numpy.testing.assert_allclose(graph.run({"x": x})["y"], swish(x + 1, 0.7), rtol=2e-6, atol=2e-6)
    if device == "cpu":
        assert len(graph.kernels()) == 1


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_kernel_and_shape_function(rng, device):
    def shape(inputs, attributes):
        rows, columns = inputs[0].dims
        assert isinstance(columns, int)
        return dyn.TensorType(inputs[0].dtype, ((rows + attributes["step"] - 1) // attributes["step"], columns * 2))

    def kernel(inputs, outputs, attributes):
        rows = inputs[0][:: attributes["step"]]
        assert outputs[0].shape == (len(rows), 10)
        outputs[0][:, :5] = rows
        outputs[0][:, 5:] = -rows

    picked = dyn.Operator("my.rows", "pick", ["x"], attributes={"step": 2}, shape=shape, kernel=kernel)
    graph = graph_of("my.rows::pick(x * 3.0) step=3", [picked], output="f32[floordiv(N + 2, 3), 10]", device=device)
    for rows in (7, 1, 0, 300):
        x = floats(rng, rows, 5)
        expected = numpy.concatenate([3 * x[::3], -3 * x[::3]], axis=1)
        numpy.testing.assert_array_equal(graph.run({"x": x})["y"], expected)
        assert graph.infer_shapes({"x": (rows, 5)}) == {"y": expected.shape}


#: By what the text calls the size.
SIZES = {
    "N + M": lambda n, m, least, most: n + m,
    "3 + N": lambda n, m, least, most: 3 + n,
    "N": lambda n, m, least, most: n - m + m,
    "5000 - N": lambda n, m, least, most: 5000 - n,
    "N * M": lambda n, m, least, most: n * m,
    "2 * N": lambda n, m, least, most: 2 * n,
    "floordiv(N, M)": lambda n, m, least, most: n // m,
    "floordiv(900, M)": lambda n, m, least, most: 900 // m,
    "mod(N, M)": lambda n, m, least, most: n % m,
    "mod(900, M)": lambda n, m, least, most: 900 % m,
    "min(N, M)": lambda n, m, least, most: least(n, m),
    "max(700, 2 * N)": lambda n, m, least, most: most(700, n * 2),
    "N + 4": lambda n, m, least, most: numpy.int64(4) + n,
    "12": lambda n, m, least, most: least(8, 9) + most(3, 4),
}


@pytest.mark.parametrize("size", SIZES)
def test_sizes_of_all_operations(size):
    def shape(inputs, attributes):
        n, m = inputs[0].dims
        return dyn.TensorType("f32", [SIZES[size](n, m, dyn.DimExpr.min, dyn.DimExpr.max)])

    graph = graph_of("my::op(x)", [kernel_of(doubling, shape)], "x: f32[N, M]", f"f32[{size}]")
    for n, m in ((7, 3), (600, 2), (4, 411), (0, 9)):
        assert graph.infer_shapes({"x": (n, m)}) == {"y": (SIZES[size](n, m, min, max),)}


def test_a_dim_explains_itself():
    seen = []

    def shape(inputs, attributes):
        n, m = inputs[0].dims
        seen.append((str(n * 2 + m), repr(n), n + m == m + n, n == m, n != 3, hash(n + m) == hash(m + n), n.low, (n - m).low, m.high, repr(inputs[0])))
        with pytest.raises(TypeError, match="'<' not supported"):
            min(n, m)
        with pytest.raises(TypeError, match="unsupported operand"):
            n + 0.5
        for use, words in (
            (lambda: dyn.DimExpr.max(n, None), "not None"),
            (lambda: n + 2**63, "more than 64 bits"),
            (lambda: n // 0, "divisor"),
            (lambda: dyn.TensorType("f32", [n, "M"]), "a size is an int or a dyn.DimExpr, not a str"),
            (lambda: dyn.TensorType("f33", [n]), "f33"),
            (lambda: dyn.require_equal(3, 4, "heads of a and b"), "heads of a and b: 3 is not 4"),
        ):
            with pytest.raises(dyn.UserError, match=words):
                use()
        seen.append(n)
        return inputs

    graph_of("my::op(x)", [kernel_of(doubling, shape)], "x: f32[N, M]", "f32[N, M]")
    told, kept = seen[:2]
    assert told == ("N * 2 + M", "<dyn.DimExpr N>", True, False, True, True, 0, -4096, 4096, "<dyn.TensorType f32[N, M]>")
    for use in (lambda: kept + 1, lambda: str(kept), lambda: kept == 3, lambda: dyn.TensorType("f32", [kept]), lambda: kept.low):
        with pytest.raises(dyn.UserError, match="until the shape function that got it returns"):
            use()


def test_conditions_on_sizes(rng):
    def shape(inputs, attributes):
        dyn.require_equal(inputs[0].dims[0], inputs[1].dims[0] + 1, "rows of a and of the next")
        return inputs[0]

    both = dyn.Operator("my", "op", ["a", "b"], shape=shape, kernel=doubling)
    graph = graph_of("my::op(a, b)", [both], "a: f32[N, 2], b: f32[M, 2]", "f32[N, 2]")
    a = floats(rng, 4, 2)
    numpy.testing.assert_array_equal(graph.run({"a": a, "b": a[1:]})["y"], 2 * a)
    with pytest.raises(dyn.UserError, match="rows of a and of the next"):
        graph.run({"a": a, "b": a})


def test_attributes_have_the_kinds_of_their_defaults():
    seen = []

    def kernel(inputs, outputs, attributes):
        seen.append(attributes)
        outputs[0][...] = inputs[0]

    kinds = {"number": 0.5, "integer": 3, "truth": False, "word": "mean", "list": [1, 2], "needed": float}
    own = kernel_of(kernel, attributes=kinds)
    assert repr(own) == "<dyn.Operator my::op(x) number=0.5 integer=3 truth=False word='mean' list=[1, 2] needed=float: a kernel>"
    x = numpy.ones((2, 5), numpy.float32)
    graph_of("my::op(x) needed=7.0", [own]).run({"x": x})
    graph_of("my::op(x) needed=-2 number=1.5 integer=-4 truth=true word=sum list=[5]", [own]).run({"x": x})
    assert seen[0] == {"number": 0.5, "integer": 3, "truth": False, "word": "mean", "list": [1, 2], "needed": 7.0}
    assert seen[1] == {"number": 1.5, "integer": -4, "truth": True, "word": "sum", "list": [5], "needed": -2.0}
    assert [type(value) for value in seen[1].values()] == [float, int, bool, str, list, float]
    with pytest.raises(dyn.ModelError, match="needed"):
        graph_of("my::op(x)", [own])


def test_outputs_inputs_and_dtypes(rng):
    counts = []

    def shape(inputs, attributes):
        counts.append(len(inputs))
        return [dyn.TensorType("bool", inputs[0].dims), dyn.TensorType(numpy.int64, [])]

    def kernel(inputs, outputs, attributes):
        assert [array.dtype for array in inputs] == [numpy.float16, numpy.uint8][: len(inputs)]
        outputs[0][...] = inputs[0] > 0
        outputs[1][...] = sum(int(array.sum() if array.dtype == numpy.uint8 else 1) for array in inputs)

    own = dyn.Operator("my", "op", ["x", "more"], 1, 2, shape=shape, kernel=kernel)
    assert repr(own) == "<dyn.Operator my::op(x, more?): a kernel, 2 outputs>"
    x, more = rng.normal(0, 1, 9).astype(numpy.float16), numpy.array([3, 4], numpy.uint8)
    for call, total in (("my::op(x)", 1), ("my::op(x, more)", 8)):
        text = f"dyn 1\ndim N in 1..64\ndim M in 1..64\ngraph own(x: f16[N], more: u8[M]) -> (up: bool[N], n: i64[]) {{\n  up, n = {call}\n  return up, n\n}}\n"
        results = dyn.Graph.from_text(text, operators=[own]).run({"x": x, "more": more})
        numpy.testing.assert_array_equal(results["up"], x > 0)
        assert results["n"] == total
    assert set(counts) == {1, 2}


def test_a_dtype_that_numpy_lacks():
    seen = []

    def kernel(inputs, outputs, attributes):
        seen.append((type(inputs[0]), inputs[0].dtype))
        outputs[0].numpy()[...] = inputs[0].numpy() * 2

    import ml_dtypes

    graph = graph_of("my::op(x)", [kernel_of(kernel)], "x: bf16[N]", "bf16[N]")
    x = numpy.array([1.5, -2, 7], ml_dtypes.bfloat16)
    numpy.testing.assert_array_equal(graph.run({"x": x})["y"].numpy(), x * 2)
    assert seen[0] == (dyn.Tensor, "bf16")


def onnx_of_own():
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Add", ["x", "x"], ["s"]),
        helper.make_node("scale", ["s"], ["t"], domain="own", factor=1.5, name="the_scale"),
        helper.make_node("swish", ["t"], ["y"], domain="own", alpha=0.5),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 5]) for name in "xy"]
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(helper.make_graph(nodes, "made", info[:1], info[1:]), opset_imports=sets, ir_version=9).SerializeToString()


def scale(inputs, outputs, attributes):
    numpy.multiply(inputs[0], attributes["factor"], out=outputs[0])


OWN = [
    dyn.Operator("own", "scale", ["x"], attributes={"factor": 2.0}, shape=like_the_first, kernel=scale),
    dyn.Operator("own", "swish", ["x"], attributes={"alpha": 1.0}, expression="x * sigmoid(alpha * x)"),
]


def test_nodes_of_an_onnx_file(rng, tmp_path):
    (tmp_path / "own.onnx").write_bytes(onnx_of_own())
    library = tmp_path / "scale.so"
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", f"-I{ROOT / 'include'}", ROOT / "tests/plugins/scale.c", "-o", library], check=True)
    options = dyn.SessionOptions()
    options.register_custom_ops_library(library)
    sessions = [dyn.InferenceSession(tmp_path / "own.onnx", operators=OWN), dyn.InferenceSession(onnx_of_own(), options)]
    for session in sessions:
        for rows in (4, 31):
            x = floats(rng, rows, 5)
            numpy.testing.assert_allclose(session.run(None, {"x": x})[0], swish(3 * x, 0.5), rtol=2e-6, atol=2e-6)
    with pytest.raises(dyn.Error, match="own.*scale"):
        dyn.InferenceSession(onnx_of_own())
    with pytest.raises(dyn.UserError, match="two operators are called own::scale"):
        dyn.InferenceSession(onnx_of_own(), options, operators=OWN)


class Trouble(Exception):
    pass


def test_exceptions_of_kernels(rng):
    raises = []

    def kernel(inputs, outputs, attributes):
        if raises:
            raise raises.pop()
        doubling(inputs, outputs, attributes)

    graph = graph_of("my::op(x)", [kernel_of(kernel)])
    text = b"dyn 1\ndim N\ngraph own(x: f32[N]) -> (y: f32[N]) {\n  y = my::op(x)\n  return y\n}\n"
    session = dyn.InferenceSession(text, operators=[kernel_of(kernel)])
    x = floats(rng, 3, 5)
    call = dyn.Call(graph)
    call.set_input("x", x)
    runs = (
        lambda: graph.run({"x": x}),
        call.run,
        lambda: graph.run_async({"x": x}).result(),
        lambda: session.run(None, {"x": x[0]}),
    )
    for run in runs:
        trouble = Trouble("no such row")
        raises.append(trouble)
        with pytest.raises(dyn.UserError, match=r"(?s)Trouble: no such row.*kernel of my::op.*'y' \(line") as caught:
            run()
        assert caught.value.__cause__ is trouble and trouble.__traceback__ is not None
        raises.append(dyn.UnsupportedError("not for these", ["a place"]))
        with pytest.raises(dyn.UnsupportedError, match="not for these") as caught:
            run()
        assert caught.value.where[0] == "a place"
        raises.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run()
        run()
    numpy.testing.assert_array_equal(graph.run({"x": x})["y"], 2 * x)


@pytest.mark.parametrize("place", ["before what is appended", "behind it"])
def test_exceptions_within_a_session(rng, place):
    """The run did not happen: the state is as it was, and the next run is right."""
    raises = []

    def kernel(inputs, outputs, attributes):
        if raises:
            raise raises.pop()
        doubling(inputs, outputs, attributes)

    if place == "behind it":
        text, name = TOTALS.replace("total = reduce_sum(all) axes=[1]", "sum = reduce_sum(all) axes=[1]\n  total = my::op(sum)"), "total"
    else:
        text, name = TOTALS.replace("  all = slice(append(past, x)", "  twice = my::op(x)\n  all = slice(append(past, twice)"), "twice"
    graph = dyn.Graph.from_text(text, operators=[kernel_of(kernel)], threads=2)
    session = dyn.Session(graph, {"B": 2, "C": 64})
    call = dyn.Call(session)
    steps = [floats(rng, 2, rows, 3) for rows in (3, 5, 2)]
    for number, step in enumerate(steps):
        call.set_input("x", step)
        for run in (lambda: session.run({"x": step}), call.run):  # noqa: B023
            raises.append(trouble := Trouble(f"step {number}"))
            with pytest.raises(dyn.UserError, match=f"(?s)Trouble: step {number}.*kernel of my::op.*'{name}' \\(line") as caught:
                run()
            assert caught.value.__cause__ is trouble
            assert session.length == sum(own.shape[1] for own in steps[:number])
        expected = 2 * numpy.concatenate(steps[: number + 1], axis=1).sum(axis=1, keepdims=True)
        numpy.testing.assert_allclose(session.run({"x": step})["total"], expected, rtol=1e-5, atol=1e-5)
    session.reset()
    numpy.testing.assert_allclose(session.run({"x": steps[1]})["total"], 2 * steps[1].sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-5)


def test_exceptions_of_several_threads(rng):
    """Each run's error has the exception of its own run as its cause."""
    together = threading.Barrier(4)

    def kernel(inputs, outputs, attributes):
        together.wait(timeout=60)
        raise Trouble(f"row {int(inputs[0][0, 0])}.")

    graph = graph_of("my::op(x)", [kernel_of(kernel)])

    def run(number):
        with pytest.raises(dyn.UserError) as caught:
            graph.run({"x": numpy.full((1, 5), number, numpy.float32)})
        return str(caught.value.__cause__)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(100):
            assert list(pool.map(run, range(4))) == [f"row {number}." for number in range(4)]


def test_exceptions_of_shape_functions():
    trouble = Trouble("no such shape")

    def shape(inputs, attributes):
        raise trouble

    with pytest.raises(dyn.UserError, match=r"(?s)Trouble: no such shape.*shape function of my::op.*line 5") as caught:
        graph_of("my::op(x)", [kernel_of(doubling, shape)])
    assert caught.value.__cause__ is trouble
    with pytest.raises(dyn.UserError, match=r"(?s)Trouble: no such shape.*the_scale"):
        dyn.InferenceSession(onnx_of_own(), operators=[dyn.Operator("own", "scale", ["x"], attributes={"factor": 1.0}, shape=shape, kernel=scale), OWN[1]])


def test_arrays_that_a_kernel_keeps(rng):
    kept = []

    def kernel(inputs, outputs, attributes):
        doubling(inputs, outputs, attributes)
        kept.append((inputs[0], outputs[0][1:]))

    graph = graph_of("my::op(x + 1.0) + 1.0", [kernel_of(kernel)])
    given = [floats(rng, rows, 5) for rows in (300, 300, 7)]
    for x in given:
        numpy.testing.assert_allclose(graph.run({"x": x})["y"], 2 * x + 3, rtol=1e-5, atol=1e-5)
    graph.trim()
    graph.close()
    gc.collect()
    for x, (before, after) in zip(given, kept, strict=True):
        numpy.testing.assert_array_equal(before, x + 1)
        numpy.testing.assert_array_equal(after, 2 * (x + 1)[1:])
        after[...] = 0


def test_kernels_in_threads(rng):
    """A kernel takes the GIL in whatever thread it is, and other threads go on meanwhile."""
    threads, inside = set(), threading.Barrier(3)

    def kernel(inputs, outputs, attributes):
        threads.add(threading.get_ident())
        inside.wait(timeout=60)
        doubling(inputs, outputs, attributes)

    x = floats(rng, 40, 5)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        graph = graph_of("my::op(x)", [kernel_of(kernel)])
        for outputs in pool.map(lambda _: graph.run({"x": x}), range(3)):
            numpy.testing.assert_array_equal(outputs["y"], 2 * x)
        for future in [graph.run_async({"x": x}) for _ in range(3)]:
            numpy.testing.assert_array_equal(future.result(60)["y"], 2 * x)
        own = graph_of("my::op(x)", [kernel_of(kernel)], executor=pool)
        for future in [own.run_async({"x": x}) for _ in range(3)]:
            numpy.testing.assert_array_equal(future.result(60)["y"], 2 * x)
    assert len(threads) >= 6


def check_goes_with_its_graph(function, operator, expected):
    """operator: makes an operator of a function, which gives `expected` of ones."""
    class Function:
        def __call__(self, *arguments):
            return function(*arguments)

    held = Function()
    seen = weakref.ref(held)
    graph = graph_of("my::op(x)", [operator(held)])
    del held
    gc.collect()
    numpy.testing.assert_array_equal(graph.run({"x": numpy.ones((2, 5), numpy.float32)})["y"], expected)
    graph.close()
    gc.collect()
    assert seen() is None


def test_functions_go_with_their_graphs():
    check_goes_with_its_graph(doubling, kernel_of, 2)


def replace(inputs, outputs, attributes):
    outputs[0] = inputs[0] * 2


def give(inputs, outputs, attributes):
    return inputs[0] * 2


def wrong_shape(inputs, outputs, attributes):
    outputs[0][...] = numpy.zeros((3, 4))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (replace, r"it put another array in place of output 0; it must fill the one that is there: outputs\[0\]\[...\] = ..."),
        (lambda inputs, outputs, attributes: outputs.clear(), "another array in place of output 0"),
        (give, r"it returned a numpy.ndarray; it must fill its outputs: outputs\[0\]\[...\] = ..."),
        (wrong_shape, "ValueError: could not broadcast"),
        (lambda inputs: None, "TypeError: .* takes 1 positional argument"),
    ],
)
def test_kernels_that_do_what_they_must_not(kernel, words):
    graph = graph_of("my::op(x)", [kernel_of(kernel)])
    with pytest.raises(dyn.UserError, match=f"(?s){words}.*kernel of my::op"):
        graph.run({"x": numpy.ones((2, 5), numpy.float32)})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda types: None, "it gives None in place of a dyn.TensorType"),
        (lambda types: [types[0], 3], "it gives an int in place"),
        (lambda types: [], "gives 0 types; it has 1 outputs"),
        (lambda types: types * 2, "gives 2 types; it has 1 outputs"),
        (lambda types: dyn.TensorType("f32", [-3]), "negative size -3"),
        (lambda types: dyn.TensorType("f32", [1] * 60), "a type of 60 dims"),
    ],
)
def test_shape_functions_that_answer_nonsense(answer, words):
    with pytest.raises(dyn.Error, match=words):
        graph_of("my::op(x)", [kernel_of(doubling, lambda inputs, attributes: answer(inputs))])


def test_a_dim_of_another_model():
    kept = []

    def keep(inputs, attributes):
        kept.append(inputs[0])
        return inputs[0]

    graph_of("my::op(x)", [kernel_of(doubling, keep)])
    with pytest.raises(dyn.UserError, match="until the shape function that got it returns"):
        graph_of("my::op(x)", [kernel_of(doubling, lambda inputs, attributes: kept[0])])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dyn.Operator("my", "op", ["x"]), "neither a kernel nor a definition nor an expression"),
        (lambda: dyn.Operator("my", "op", ["x"], kernel=doubling), "it has a kernel, but no shape function"),
        (lambda: dyn.Operator("my", "op", ["x", "x"], expression="x"), "the input `x` has no name, or another's"),
        (lambda: dyn.Operator("my", "o.p", ["x"], expression="x"), "domain and name are letters"),
        (lambda: dyn.Operator("", "op", ["x"], expression="x"), "domain and name are letters"),
        (lambda: dyn.Operator(None, "op", ["x"], expression="x"), "domain is a str, not None"),
        (lambda: dyn.Operator("my", "op", "xy", expression="x"), "a list of names, not 'xy'"),
        (lambda: dyn.Operator("my", "op", [1], expression="x"), "input is a str, not an int"),
        (lambda: dyn.Operator("my", "op", ["x"], 2, expression="x"), "2 of 1 inputs cannot be optional"),
        (lambda: dyn.Operator("my", "op", ["x"], -1, expression="x"), "optional_inputs are an int of 0 and more, not -1"),
        (lambda: dyn.Operator("my", "op", ["x"], outputs=0, shape=like_the_first, kernel=doubling), "0 outputs"),
        (lambda: dyn.Operator("my", "op", ["x"], attributes=["alpha"], expression="x"), "a dict from names to defaults, not a list"),
        (lambda: dyn.Operator("my", "op", ["x"], attributes={"alpha": None}, expression="x"), "'alpha' has a default that is a bool"),
        (lambda: dyn.Operator("my", "op", ["x"], attributes={"alpha": [0.5]}, expression="x"), "'alpha' has 0.5, which is no int"),
        (lambda: dyn.Operator("my", "op", ["x"], attributes={"alpha": 2**64}, expression="x"), "no int of 64 bits"),
        (lambda: dyn.Operator("my", "op", ["x"], attributes={"alpha": "two words"}, expression="x"), "no word"),
        (lambda: dyn.Operator("my", "op", ["x"], shape=3, kernel=doubling), "shape is a function, not an int"),
        (lambda: graph_of("my::swish(x)", SWISH), "'operators' takes a list of dyn.Operator, not <dyn.Operator my::swish"),
        (lambda: graph_of("my::swish(x)", [SWISH, SWISH]), "two operators are called my::swish"),
        (lambda: graph_of("my::swish(x)", [dyn.Operator.__new__(dyn.Operator)]), "this dyn.Operator was never initialised"),
    ],
)
def test_operators_that_cannot_be(make, words):
    with pytest.raises(dyn.UserError, match=words):
        make()


def test_expressions_that_cannot_be():
    for expression, words in (("x *", "my::op"), ("softmax(x)", "softmax"), ("x + beta", "beta")):
        with pytest.raises(dyn.Error, match=re.escape(words)):
            graph_of("my::op(x)", [dyn.Operator("my", "op", ["x"], expression=expression)])
