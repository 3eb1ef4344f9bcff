"""Models that a Python object reads, and what it does wrong."""

import gc
import threading
import weakref

import dyn
import numpy
import pytest
from models import SCALE, onnx_model

TEXT = """dyn 1
dim N in 0..64
weights "w.safetensors"
graph own(x: f32[N, 5]) -> (y: f32[N, 3]) {
  y = matmul(x, w: f32[5, 3])
  return y
}
"""


class Files:
    """Reads files in memory; `fault` is called before each answer with what was asked."""

    def __init__(self, files, fault=None):
        self.files, self.fault, self.asked = files, fault, []

    def before(self, what, name):
        self.asked.append((what, name))
        if self.fault is not None:
            return self.fault(what, name)
        return None

    def size(self, name):
        given = self.before("size", name)
        return len(self.files[name]) if given is None else given

    def read(self, name, offset, count):
        given = self.before("read", name)
        return self.files[name][offset : offset + count] if given is None else given


class Longer(Files):
    """The beginning of a file, by which its kind is known, is there at any size."""

    def read(self, name, offset, count):
        return super().read(name, offset, count).ljust(256, b"\n")[:count]


class Lent(Files):
    """Lends its memory, too."""

    def in_place(self, name):
        given = self.before("in_place", name)
        return memoryview(self.files[name]) if given is None else given


class Named(Files):
    """Weights of which prepacked copies may be kept."""

    def identity(self, name):
        given = self.before("identity", name)
        return f"{name} 1" if given is None else given


@pytest.fixture
def weights(rng):
    return rng.normal(0.2, 1, (5, 3)).astype(numpy.float32)


@pytest.fixture
def files(weights):
    header = b'{"w":{"dtype":"F32","shape":[5,3],"data_offsets":[0,60]}}'
    return {"m/own.dyn": TEXT.encode(), "m/w.safetensors": len(header).to_bytes(8, "little") + header + weights.tobytes()}


@pytest.mark.parametrize("kind", [Files, Lent, Named])
def test_a_model_is_read_through_an_object(kind, files, weights, rng):
    reader = kind(files)
    graph = dyn.Graph.from_reader("m/own.dyn", reader, threads=1)
    x = rng.normal(size=(4, 5)).astype(numpy.float32)
    numpy.testing.assert_allclose(graph.run({"x": x})["y"], x @ weights, rtol=1e-5, atol=1e-5)
    assert {name for _, name in reader.asked} == set(files)
    assert ("read" in {what for what, _ in reader.asked}) == (kind is not Lent)
    assert graph.metadata.source == "m/own.dyn" and "m/own.dyn" in repr(graph)
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None  # a text is read once


def test_memory_that_is_lent_stays(files, weights):
    """A bytearray that is lent cannot be resized until the load has come to its end."""
    files["m/w.safetensors"] = bytearray(files["m/w.safetensors"])
    refused = []

    class Greedy(Lent):
        def in_place(self, name):
            if name == "m/own.dyn":
                return None
            return self.files[name]

        def identity(self, name):
            with pytest.raises(BufferError):
                self.files[name].append(0)
            refused.append(name)
            return ""

    graph = dyn.Graph.from_reader("m/own.dyn", Greedy(files), threads=1)
    files["m/w.safetensors"].append(0)
    assert refused == ["m/w.safetensors"]
    numpy.testing.assert_allclose(graph.run({"x": numpy.eye(5, dtype=numpy.float32)})["y"], weights, rtol=1e-6)


def raising(error):
    def fault(what, name):
        if name == "m/w.safetensors" and what != "in_place":
            raise error

    return fault


def test_what_a_reader_raises_is_the_cause(files):
    own = LookupError("the container\nis broken")
    with pytest.raises(dyn.DeviceError, match="cannot read 'm/w.safetensors': the reader, asked for its size, says: LookupError: the container is broken") as caught:
        dyn.Graph.from_reader("m/own.dyn", Files(files, raising(own)))
    assert caught.value.__cause__ is own and own.__traceback__ is not None
    assert caught.value.where[-1] == "loading 'm/own.dyn'"
    own = dyn.ModelError("the archive has no such file", ["the archive"])
    with pytest.raises(dyn.ModelError, match="the archive has no such file") as caught:
        dyn.Graph.from_reader("m/own.dyn", Files(files, raising(own)))
    assert caught.value.__cause__ is own and "the archive" in caught.value.where
    for error in (KeyboardInterrupt(), SystemExit(3)):
        with pytest.raises(type(error)) as caught:
            dyn.Graph.from_reader("m/own.dyn", Files(files, raising(error)))
        assert caught.value is error
    with pytest.raises(dyn.DeviceError, match="asked for 8 bytes at byte 0, says: KeyError: 'x'") as caught:
        dyn.Graph.from_reader("m/own.dyn", Files(files, lambda what, name: {}["x"] if (what, name) == ("read", "m/w.safetensors") else None))
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(dyn.ModelError) as caught:
        dyn.Graph.from_reader("m/own.dyn", Files(files | {"m/own.dyn": b"dyn 1\nnonsense"}))
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("kind", "what", "given", "words"),
    [
        (Files, "size", -1, "size() gave -1, which is no number of bytes"),
        (Files, "size", 2**64, "which is no number of bytes"),
        (Longer, "size", 2**63, "no memory for"),
        (Files, "size", "8", "size() gave '8'"),
        (Files, "size", 8.0, "size() gave 8.0"),
        (Files, "size", True, "size() gave True"),
        (Files, "size", 10**6, "asked for 256 bytes at byte 0, gave "),
        (Longer, "size", 10**6, "asked for 1000000 bytes at byte 0, gave 256; "),
        (Files, "read", "text", "read() gave a str, not bytes"),
        (Files, "read", 7, "read() gave an int, not bytes"),
        (Files, "read", b"", "gave 0; it says that the file has"),
        (Files, "read", b"x" * 999, "gave 999"),
        (Files, "read", numpy.zeros((4, 4))[:, 1], "read() gave a numpy.ndarray, not bytes"),
        (Lent, "in_place", "text", "in_place() gave a str, not bytes"),
        (Lent, "in_place", b"", "is empty"),
        (Named, "identity", 3, "identity() gave an int, not a str"),
    ],
)
def test_nonsense_of_a_reader_is_an_error(kind, what, given, words, files):
    name = "m/w.safetensors" if what == "identity" else "m/own.dyn"
    reader = kind(files, lambda asked, file: given if (asked, file) == (what, name) else None)
    with pytest.raises(dyn.Error) as caught:
        dyn.Graph.from_reader("m/own.dyn", reader)
    assert words in str(caught.value) and name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "reader", "words"),
    [
        ("m", None, r"but None has no size\(\)"),
        ("m", b"dyn 1", r"but a bytes has no size\(\)"),
        ("m", type("Half", (), {"size": len})(), r"has no read\(\)"),
        (None, Files({}), "a reader's name of a model is a str, not None"),
        ("a\0b", Files({}), "byte of 0"),
    ],
)
def test_what_is_no_reader_is_refused(name, reader, words):
    with pytest.raises(dyn.UserError, match=words):
        dyn.Graph.from_reader(name, reader)


def onnx_of_axes():
    """Its structure is known when a run gives the axes, and so it is imported again by runs."""
    helper = pytest.importorskip("onnx", reason="python.onnxruntime: onnx is not installed").helper
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    return onnx_model(nodes, [("x", "float32", ["A", "B"]), ("axes", "int64", [1])], [("y", "float32", ["C"])])


@pytest.mark.parametrize("kind", [Files, Lent])
def test_runs_call_a_reader_from_any_thread(kind, rng):
    """More callers than the graph keeps of structures: the model is imported again and again."""
    reader = kind({"axes.onnx": onnx_of_axes()})
    graph = dyn.Graph.from_reader("axes.onnx", reader, threads=2, structures=1)
    x = rng.normal(size=(3, 5)).astype(numpy.float32)
    before, errors = len(reader.asked), []

    def body(number):
        try:
            for axis in (number % 2, 1 - number % 2):
                numpy.testing.assert_allclose(graph.run({"x": x, "axes": numpy.array([axis])})["y"], x.sum(axis), rtol=1e-5, atol=1e-5)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(reader.asked) > before
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is not None  # the graph may ask again
    graph.close()
    gc.collect()
    assert gone() is None


def test_a_reader_that_fails_in_a_run(rng):
    reader = Files({"axes.onnx": onnx_of_axes()})
    graph = dyn.Graph.from_reader("axes.onnx", reader, threads=1)
    x = rng.normal(size=(3, 5)).astype(numpy.float32)
    own = OSError(5, "the link is down")

    def broken(what, name):
        raise own

    call = dyn.Call(graph)
    call.set_input("x", x)
    call.set_input("axes", numpy.array([1]))
    reader.fault = broken
    for use in (lambda: graph.run({"x": x, "axes": numpy.array([0])}), call.run):
        with pytest.raises(dyn.DeviceError, match="axes.onnx.*the link is down") as caught:
            use()
        assert caught.value.__cause__ is own
    reader.fault = None
    call.run()
    numpy.testing.assert_allclose(call.output("y"), x.sum(1), rtol=1e-5, atol=1e-5)


def test_loads_through_readers_leave_the_gil_to_others(files):
    """A reader that waits for another thread gets what that one does."""
    go, went = threading.Event(), threading.Event()

    def waits(what, name):
        go.set()
        assert went.wait(60)

    def other():
        assert go.wait(60)
        dyn.Graph.from_text(SCALE, threads=1).run({"x": [1], "y": [2]})
        went.set()

    thread = threading.Thread(target=other)
    thread.start()
    dyn.Graph.from_reader("m/own.dyn", Files(files, waits), threads=1)
    thread.join()
