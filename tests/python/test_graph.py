"""Graphs, sessions and calls: what they tell, and what they refuse."""

import concurrent.futures
import os
import pathlib
import pickle
import re
import subprocess
import types

import dyn
import numpy
import pytest
from models import PRODUCT, SCALE, TOTALS


@pytest.fixture(scope="module")
def scale():
    return dyn.Graph.from_text(SCALE, threads=1)


@pytest.fixture(scope="module")
def totals():
    return dyn.Graph.from_text(TOTALS, threads=1)


def floats(rng, *shape):
    return rng.normal(0.3, 1, shape).astype(numpy.float32)


def test_ports_tell_what_the_model_declares():
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    assert [(port.name, port.dtype, port.shape, port.texts) for port in graph.inputs] == [("a", "f32", ("M", "K"), None), ("b", "f32", ("K", 24), None)]
    assert [(port.name, port.shape) for port in graph.outputs] == [("c", ("M", 24)), ("twice", ("M", "K"))]
    assert repr(graph).startswith("<dyn.Graph of text: (a: f32[M, K], b: f32[K, 24]) -> (c: f32[M, 24], twice: f32[M, K]), ")
    assert repr(graph.inputs[0]) == "<dyn.Port a: f32[M, K]>"
    report = graph.load_report
    assert report.total > 0 and report.kernels >= 2 and report.weight_bytes == 0 and f"{report.kernels} kernels" in repr(report)


def test_shapes_of_expressions():
    graph = dyn.Graph.from_text("dyn 1\ndim N in 1..9\ngraph twice(x: f32[N, 2]) -> (y: f32[N + N, 2], s: f32[]) {\n  y = concat(x, x) axis=0\n  s = reshape(reduce_sum(x) axes=[0, 1]) shape=[]\n  return y, s\n}\n", threads=1)
    assert [port.shape for port in graph.outputs] == [("N * 2", 2), ()]
    assert graph.infer_shapes({"x": (4, 2)}) == {"y": (8, 2), "s": ()}


def test_shapes_ahead_of_runs(rng):
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    assert graph.infer_shapes({"a": (7, 31), "b": [31, 24]}) == {"c": (7, 24), "twice": (7, 31)}
    assert graph.shapes_planned == 0
    graph.prepare({"a": (7, 31), "b": (31, 24)})
    assert graph.shapes_planned == 1
    a, b = floats(rng, 7, 31), floats(rng, 31, 24)
    numpy.testing.assert_allclose(graph.run({"a": a, "b": b})["c"], a @ b, rtol=2e-5, atol=2e-5)
    assert graph.shapes_planned == 1 and graph.kernels_compiled_since_load == 0
    for shapes, words in (
        ({"a": (7, 31)}, "'b' is missing"),
        ({"a": (7, 31), "b": (30, 24)}, "dim K is 31"),
        ({"a": (7, -31), "b": (31, 24)}, "input 'a'"),
        ({"a": 7, "b": (31, 24)}, "the shape of input 'a' is 7, which is no sequence of sizes"),
        ({"a": ("M", 31), "b": (31, 24)}, "no sequence of sizes"),
        ({"q": (1,)}, "the model has no input 'q'"),
        ({3: (1,)}, "no input number 3"),
    ):
        for use in (graph.infer_shapes, graph.prepare):
            with pytest.raises(dyn.UserError, match=words):
                use(shapes)


def test_loads_from_files_and_memory(tmp_path, rng):
    weights = floats(rng, 5, 3)
    text = 'dyn 1\ndim N in 1..64\nweights "w.safetensors"\ngraph own(x: f32[N, 5]) -> (y: f32[N, 3]) {\n  y = matmul(x, w: f32[5, 3])\n  return y\n}\n'
    header = b'{"w":{"dtype":"F32","shape":[5,3],"data_offsets":[0,60]}}'
    packed = len(header).to_bytes(8, "little") + header + weights.tobytes()
    (tmp_path / "w.safetensors").write_bytes(packed)
    (tmp_path / "m.dyn").write_text(text)
    x = floats(rng, 4, 5)
    for load in (
        lambda: dyn.Graph.load(tmp_path / "m.dyn", threads=1),
        lambda: dyn.Graph.load(str(tmp_path / "m.dyn")),
        lambda: dyn.Graph.from_text(text, tmp_path),
        lambda: dyn.Graph.from_text(text, weight_directory=str(tmp_path), threads=1),
        lambda: dyn.Graph(tmp_path / "m.dyn", threads=1),
        lambda: dyn.Graph.from_memory(text, {"w.safetensors": packed}),
        lambda: dyn.Graph.from_memory(text.encode(), types.MappingProxyType({"w.safetensors": bytearray(packed)})),
        lambda: dyn.Graph.from_memory(text, {"w.safetensors": memoryview(bytearray(packed))}, threads=1),
    ):
        with load() as graph:
            numpy.testing.assert_allclose(graph.run({"x": x})["y"], x @ weights, rtol=1e-5, atol=1e-5)
            assert graph.load_report.weight_bytes > 0
    assert dyn.Graph(SCALE.encode()).run({"x": [1], "y": [2]})["z"].tolist() == [4]
    assert repr(dyn.Graph.from_memory(SCALE)).startswith("<dyn.Graph of memory: (x: f32[N]")
    with pytest.raises(dyn.UserError, match="the file 'w.safetensors' is a str, not bytes"):
        dyn.Graph.from_memory(text, {"w.safetensors": "text"})
    with pytest.raises(dyn.ModelError, match="w"):
        dyn.Graph.from_memory(text, {"w.safetensors": packed[:-4]})


@pytest.mark.parametrize(
    ("load", "error", "words"),
    [
        (lambda: dyn.Graph.load(None), dyn.UserError, "a model is a path, or the bytes of a model, not None"),
        (lambda: dyn.Graph.load(7), dyn.UserError, "not an int"),
        (lambda: dyn.Graph.load("a\0b"), (dyn.UserError, ValueError), "byte"),
        (lambda: dyn.Graph.load("/nowhere/model.dyn"), dyn.DeviceError, "cannot read '/nowhere/model.dyn'"),
        (lambda: dyn.Graph.load(b"abc"), dyn.ModelError, "'<memory>' is neither dyn's text, which begins with \"dyn 1\", nor an ONNX model"),
        (lambda: dyn.Graph.load(b""), dyn.ModelError, "the model '<memory>' is empty"),
        (lambda: dyn.Graph(b"\x08\x08"), dyn.ModelError, "<memory>"),
        (lambda: dyn.Graph(None), dyn.UserError, "not None"),
        (lambda: dyn.Graph.from_memory(None), dyn.UserError, "a model is the bytes of an ONNX file, or dyn's text, not None"),
        (lambda: dyn.Graph.from_memory(SCALE, [1]), dyn.UserError, "files are a mapping from names to bytes, not a list"),
        (lambda: dyn.Graph.from_text(None), dyn.UserError, "a text is a str, not None"),
        (lambda: dyn.Graph.from_text("dyn 1\ngraph"), dyn.ModelError, "<text>:2"),
        (lambda: dyn.Graph.from_text("\udc80"), dyn.ModelError, "<text>:1"),
        (lambda: dyn.Graph.from_text(SCALE, 3), dyn.UserError, "a folder is a path, not an int"),
        (lambda: dyn.Graph.from_text(SCALE, thread=2), dyn.UserError, "there is no option 'thread'; there are threads, "),
        (lambda: dyn.Graph.from_text(SCALE, threads="2"), dyn.UserError, "the option 'threads' takes an int, not '2'"),
        (lambda: dyn.Graph.from_text(SCALE, threads=True), dyn.UserError, "'threads' takes an int, not True"),
        (lambda: dyn.Graph.from_text(SCALE, threads=None), dyn.UserError, "'threads' takes an int, not None"),
        (lambda: dyn.Graph.from_text(SCALE, threads=2**40), dyn.UserError, "'threads' takes a smaller int"),
        (lambda: dyn.Graph.from_text(SCALE, threads=-1), dyn.UserError, "threads"),
        (lambda: dyn.Graph.from_text(SCALE, plan_cache_bytes=-1), dyn.UserError, "'plan_cache_bytes' takes an int of 0 and more"),
        (lambda: dyn.Graph.from_text(SCALE, deterministic=1), dyn.UserError, "'deterministic' takes True or False, not 1"),
        (lambda: dyn.Graph.from_text(SCALE, device=b"cpu"), dyn.UserError, "'device' takes a str"),
        (lambda: dyn.Graph.from_text(SCALE, device="tpu"), dyn.UserError, "tpu"),
        (lambda: dyn.Graph.from_text(SCALE, precision="f33"), dyn.UserError, "f33"),
        (lambda: dyn.Graph.from_text(SCALE, cache_dir=3), dyn.UserError, "'cache_dir' takes a path"),
        (lambda: dyn.Graph.from_text(SCALE, log=3), dyn.UserError, "'log' takes a function"),
        (lambda: dyn.Graph.from_text(SCALE, plugins="scale.so"), dyn.UserError, "'plugins' takes a list of paths, not 'scale.so'"),
        (lambda: dyn.Graph.from_text(SCALE, plugins=[3]), dyn.UserError, "'plugins' takes a path, not 3"),
        (lambda: dyn.Graph.from_text(SCALE, plugins=["/nowhere.so"]), dyn.Error, "/nowhere.so"),
        (lambda: dyn.Graph.from_text(SCALE, progress=3), dyn.UserError, "'progress' takes a function of a stage and two numbers, not 3"),
        (lambda: dyn.Graph.from_text(SCALE, executor=3), dyn.UserError, "an executor has submit(function) and concurrency, an int, as a ThreadPoolExecutor does; an int lacks submit"),
        (lambda: dyn.Graph.from_text(SCALE, executor=None), dyn.UserError, "None lacks submit"),
        (lambda: dyn.Graph.from_text(SCALE, executor=concurrent.futures.Executor()), dyn.UserError, "Executor lacks concurrency"),
        (lambda: dyn.Graph.from_text(SCALE, executor=types.SimpleNamespace(submit=len, concurrency=-1)), dyn.UserError, "concurrency is 0 to 1023, not -1"),
        (lambda: dyn.Graph.from_text(SCALE, executor=types.SimpleNamespace(submit=len, concurrency=2**80)), dyn.UserError, "concurrency is 0 to 1023"),
        (lambda: dyn.Graph.from_text(SCALE, known_inputs=[1]), dyn.UserError, "'known_inputs' takes a dict of arrays"),
        (lambda: dyn.Graph.from_text(SCALE, known_inputs={"x": None}), dyn.UserError, "the known input 'x' is None"),
        (lambda: dyn.Graph.from_text(SCALE, free_dims={"x": "N"}), dyn.UserError, "'free_dims' takes a dict of lists"),
        (lambda: dyn.Graph.from_text(SCALE, free_dims={"x": ["N"]}), dyn.UserError, "no ONNX file"),
    ],
)
def test_loads_that_fail(load, error, words):
    with pytest.raises(error, match=re.escape(words)):
        load()


def test_errors_have_a_kind_a_message_and_places():
    with pytest.raises(dyn.Error) as caught:
        dyn.Graph.from_text("dyn 1\ndim N\ngraph own(x: f32[N]) -> (y: f32[N]) {\n  y = nothing(x)\n  return y\n}\n")
    error = caught.value
    assert type(error) is dyn.ModelError and isinstance(error, ValueError) and error.kind == "model"
    assert error.message.startswith("<text>:4:7: unknown operator `nothing`") and error.where == ("loading '<text>'",)
    assert str(error) == error.message + "\n  in loading '<text>'"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.where, str(again)) == (type(error), error.message, error.where, str(error))
    kinds = {"user": dyn.UserError, "model": dyn.ModelError, "unsupported": dyn.UnsupportedError, "device": dyn.DeviceError, "internal": dyn.InternalError, "cancelled": dyn.CancelledError}
    assert {name: own.kind for name, own in zip(kinds, kinds.values(), strict=True)} == {name: name for name in kinds}


def test_what_was_closed_is_refused(scale, totals, rng):
    x = floats(rng, 3)
    graph = dyn.Graph.from_text(SCALE, threads=1)
    call = dyn.Call(graph)
    graph.close()
    graph.close()
    for use in (
        lambda: graph.run({"x": x, "y": x}),
        lambda: graph.inputs,
        lambda: graph.load_report,
        lambda: graph.infer_shapes({}),
        lambda: dyn.Call(graph),
        lambda: dyn.Session(graph),
    ):
        with pytest.raises(dyn.UserError, match=r"this dyn\.Graph was closed"):
            use()
    assert repr(graph) == "<dyn.Graph, closed>"
    call.set_input("x", x)  # a call keeps what it runs
    call.set_input("y", x)
    call.run()
    numpy.testing.assert_allclose(call.output("z"), 3 * x, rtol=1e-6)
    kept = call.output("z")
    call.close()
    call.close()
    numpy.testing.assert_allclose(kept, 3 * x, rtol=1e-6)
    for use in (call.run, lambda: call.set_input(0, x), lambda: call.set_output(0, x), lambda: call.output(0)):
        with pytest.raises(dyn.UserError, match=r"this dyn\.Call was closed"):
            use()
    with dyn.Session(totals) as session:
        assert session.length == 0
    for use in (lambda: session.run({}), lambda: session.length, session.reset, lambda: session.truncate(0), lambda: dyn.Call(session)):
        with pytest.raises(dyn.UserError, match=r"this dyn\.Session was closed"):
            use()
    assert (repr(call), repr(session)) == ("<dyn.Call, closed>", "<dyn.Session, closed>")


def test_calls_bind_once(scale, rng):
    call = dyn.Call(scale)
    with pytest.raises(dyn.UserError, match=r"output 'z' is not there yet"):
        call.output("z")
    with pytest.raises(dyn.UserError, match="input 'x' is missing"):
        call.run()
    x, y, z = floats(rng, 6), floats(rng, 6), numpy.zeros(6, numpy.float32)
    call.set_input("x", x)
    call.set_input(1, y)
    call.set_output("z", z)
    for _ in range(3):
        x[:] = floats(rng, 6)
        call.run()
        numpy.testing.assert_allclose(z, 2 * x + y, rtol=1e-5, atol=1e-6)
    assert call.output(0).ctypes.data == z.ctypes.data
    for use, words in (
        (lambda: call.set_input("q", x), "the model has no input 'q'"),
        (lambda: call.set_input(2, x), "there is no input number 2; the model has 2"),
        (lambda: call.set_input(-1, x), "there is no input number -1"),
        (lambda: call.set_input(2**70, x), "there is no input number"),
        (lambda: call.set_input(1.5, x), "a name or a number, not a float"),
        (lambda: call.set_input("x", None), "input 'x' is None"),
        (lambda: call.set_input("x", [1, 2]), "input 'x' is a list"),
        (lambda: call.set_output("z", None), "output 'z' is None"),
        (lambda: call.output("q"), "the model has no output 'q'"),
    ):
        with pytest.raises(dyn.UserError, match=words):
            use()
    call.run()  # what was refused has changed nothing
    numpy.testing.assert_allclose(z, 2 * x + y, rtol=1e-5, atol=1e-6)
    assert repr(call) == "<dyn.Call of text: (x: f32[N], y: f32[N]) -> (z: f32[N])>"


def test_sessions_keep_their_state(totals, rng):
    with pytest.raises(dyn.UserError, match="has state"):
        totals.run({"x": floats(rng, 2, 1, 3)})
    session = dyn.Session(totals, {"B": 2, "C": 12})
    seen = numpy.zeros((2, 0, 3), numpy.float32)
    for steps in (5, 1, 3):
        x = floats(rng, 2, steps, 3)
        seen = numpy.concatenate([seen, x], 1)
        numpy.testing.assert_allclose(session.run({"x": x})["total"], seen.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)
    assert session.length == 9 and session.nbytes > 0 and "9 positions" in repr(session)
    with pytest.raises(dyn.UserError):
        session.run({"x": floats(rng, 2, 4, 3)})  # there is room for 3
    assert session.length == 9
    session.truncate(5)
    call = dyn.Call(session)
    x = floats(rng, 2, 2, 3)
    call.set_input("x", x)
    call.run()
    numpy.testing.assert_allclose(call.output(0), numpy.concatenate([seen[:, :5], x], 1).sum(1, keepdims=True), rtol=1e-5, atol=1e-5)
    session.reset()
    numpy.testing.assert_allclose(session.run({"x": x})["total"], x.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)
    for use, words in (
        (lambda: session.truncate(-1), "-1"),
        (lambda: session.truncate(100), "100"),
        (lambda: dyn.Session(totals, {"Q": 1}), "no dim 'Q'"),
        (lambda: dyn.Session(totals, {"C": 65}), "dim C is 65"),
    ):
        with pytest.raises(dyn.UserError, match=words):
            use()
    with pytest.raises(TypeError):
        dyn.Session(totals, {"C": "many"})


def test_options_have_an_effect(rng, tmp_path):
    lines = []
    cache = tmp_path / "cache"
    graph = dyn.Graph.from_text(PRODUCT, threads=1, cache_dir=cache, isa="sse2", log=lambda level, line: lines.append((level, line)))
    a, b = floats(rng, 4, 9), floats(rng, 9, 24)
    numpy.testing.assert_allclose(graph.run({"a": a, "b": b})["c"], a @ b, rtol=2e-5, atol=2e-5)
    assert any(cache.iterdir())
    assert all(level in ("debug", "info", "warning") and isinstance(line, str) for level, line in lines)
    reference = dyn.Graph.from_text(PRODUCT, device="reference")
    numpy.testing.assert_allclose(reference.run({"a": a, "b": b})["c"], a @ b, rtol=2e-5, atol=2e-5)


def test_operators_of_a_plug_in(rng, tmp_path):
    root = pathlib.Path(__file__).parents[2]
    library = tmp_path / "scale.so"
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", f"-I{root / 'include'}", root / "tests/plugins/scale.c", "-o", library], check=True)
    text = "dyn 1\ndim N in 1..64\ngraph own(x: f32[N, 4]) -> (y: f32[N, 2]) {\n  y = own::pairs(own::swish(x))\n  return y\n}\n"
    x = floats(rng, 7, 4)
    swish = x / (1 + numpy.exp(-x))
    graph = dyn.Graph.from_text(text, threads=1, plugins=[library])
    numpy.testing.assert_allclose(graph.run({"x": x})["y"], swish[:, ::2] + swish[:, 1::2], rtol=1e-5, atol=1e-6)
    with pytest.raises(dyn.ModelError, match="own::pairs"):
        dyn.Graph.from_text(text)


def test_every_option_of_the_headers_has_a_name_here():
    header = pathlib.Path(__file__).parents[2] / "include/dyn/options.hpp"
    options = header.read_text().split("struct Options {")[1]
    members = re.findall(r"^  [A-Za-z:_0-9<>, ()&]+[ >](\w+)(?: = [^;]*)?;$", options, re.MULTILINE)
    assert len(members) > 20
    from dyn._dyn import option_types

    assert sorted(members) == sorted(option_types())


def test_a_log_that_raises_ends_no_load(capsys):
    """Such an error is Python's `unraisable`."""
    import sys

    seen = []
    before, sys.unraisablehook = sys.unraisablehook, seen.append

    def log(level, line):
        raise ValueError("no")

    try:
        graph = dyn.Graph.from_text(SCALE, threads=1, log=log, cache_dir="none")
        assert graph.run({"x": [1], "y": [2]})["z"].tolist() == [4]
    finally:
        sys.unraisablehook = before
    assert all(isinstance(own.exc_value, ValueError) for own in seen)


def test_threads_of_a_process_that_forks(scale):
    """A child that only leaves does not hang or crash."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
