"""Arrays of NumPy and tensors of DLPack, in and out, without copies."""

import gc
import sys

import dyn
import numpy
import pytest
from dlpack_maker import CUDA, OldProducer, Producer
from models import PRODUCT, SCALE, move

DTYPES = ["float32", "float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
DYN_NAMES = dict(zip(DTYPES, ["f32", "f16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"], strict=True))


@pytest.fixture(scope="module")
def scale():
    return dyn.Graph.from_text(SCALE, threads=1)


def drawn(rng, dtype, shape):
    return rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_numpy(rng, dtype):
    graph = dyn.Graph.from_text(move(DYN_NAMES[dtype]), threads=1)
    for rows in (1, 5, 0):
        x = drawn(rng, dtype, (rows, 3))
        y = graph.run({"x": x})["y"]
        assert type(y) is numpy.ndarray and y.dtype == x.dtype
        numpy.testing.assert_array_equal(y, x.T)
        through = graph.run({"x": dyn.Tensor(x)})["y"]
        numpy.testing.assert_array_equal(through, x.T)
        if dtype != "bool" or rows:
            assert numpy.shares_memory(numpy.from_dlpack(dyn.Tensor(x)), x) == (rows > 0)


def test_dense_memory_is_seen_and_not_copied(rng):
    array = rng.normal(size=(4, 7)).astype(numpy.float32)
    for given in (array, Producer(array), OldProducer(array), memoryview(array)):
        tensor = dyn.Tensor(given)
        assert tensor.address == array.ctypes.data and tensor.shape == (4, 7) and tensor.nbytes == array.nbytes
        for seen in (tensor.numpy(), numpy.asarray(tensor), numpy.from_dlpack(tensor)):
            assert seen.ctypes.data == array.ctypes.data
            numpy.testing.assert_array_equal(seen, array)


def test_a_run_reads_dense_memory_where_it_is(scale, rng):
    """An input that writes another one's memory while the run looks at it shows which of them are copied."""
    base = numpy.zeros(6, numpy.float32)

    class Writer(Producer):
        def __dlpack__(self, **given):
            base[:] = 5
            return super().__dlpack__(**given)

    y = rng.normal(size=6).astype(numpy.float32)
    crooked = Producer(base, shape=(3,), strides=(2,))
    for x, size, seen in ((base, 6, 5), (Producer(base), 6, 5), (memoryview(base), 6, 5), (base[::2], 3, 1), (crooked, 3, 1)):
        base[:] = 1
        rest = y[:size]
        numpy.testing.assert_allclose(scale.run({"x": x, "y": Writer(rest)})["z"], 2 * seen + rest, rtol=1e-6)


def test_axes_of_one_element_have_any_stride(rng):
    array = rng.normal(size=(4, 7)).astype(numpy.float32)
    for given in (Producer(array, shape=(1, 7), strides=(99, 1)), array[1:2], numpy.lib.stride_tricks.as_strided(array, (4, 7, 1), (28, 4, 96))):
        assert dyn.Tensor(given).address in (array.ctypes.data, array[1:].ctypes.data)


def test_a_tensor_in_between_keeps_its_memory(rng):
    producer = Producer(rng.normal(size=5).astype(numpy.float32))
    for hand_on in (numpy.from_dlpack, numpy.asarray, lambda own: dyn.Tensor(own).numpy()):
        producer = Producer(producer.array)
        last = hand_on(dyn.Tensor(producer))
        gc.collect()
        assert producer.deleted == 0 and last.ctypes.data == producer.array.ctypes.data
        del last
        gc.collect()
        assert producer.deleted == 1


def test_outputs_own_their_memory(scale, rng):
    x = rng.normal(size=5).astype(numpy.float32)
    first = scale.run({"x": x, "y": x})["z"]
    second = scale.run({"x": x + 1, "y": x})["z"]
    numpy.testing.assert_allclose(first, 3 * x, rtol=1e-6, atol=1e-6)
    numpy.testing.assert_allclose(second, 3 * x + 2, rtol=1e-6, atol=1e-6)
    del second
    gc.collect()
    first += 1  # writable
    numpy.testing.assert_allclose(first, 3 * x + 1, rtol=1e-6, atol=1e-6)


def test_outputs_into_given_memory(rng):
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    a, b = rng.normal(size=(7, 31)).astype(numpy.float32), rng.normal(size=(31, 24)).astype(numpy.float32)
    c = numpy.full((7, 24), numpy.nan, numpy.float32)
    outputs = graph.run({"a": a, "b": b}, out={"c": c})
    assert outputs["c"] is c
    numpy.testing.assert_allclose(c, a @ b, rtol=2e-5, atol=2e-5)
    numpy.testing.assert_array_equal(outputs["twice"], 2 * a)


@pytest.mark.parametrize("bad", ["shape", "dtype", "read-only", "strided", "the input", "none", "unknown"])
def test_memory_that_no_output_can_take(rng, bad):
    graph = dyn.Graph.from_text(PRODUCT, threads=1)
    a, b = rng.normal(size=(7, 24)).astype(numpy.float32), rng.normal(size=(24, 24)).astype(numpy.float32)
    locked = numpy.zeros((7, 24), numpy.float32)
    locked.flags.writeable = False
    memory, words = {
        "shape": ({"c": numpy.zeros((7, 23), numpy.float32)}, "these inputs give [7, 24]"),
        "dtype": ({"c": numpy.zeros((7, 24))}, "output 'c' is f64"),
        "read-only": ({"c": locked}, "output 'c' is a read-only view"),
        "strided": ({"c": numpy.zeros((24, 7), numpy.float32).T}, "output 'c' has strides"),
        "the input": ({"c": a}, "output 'c' overlaps input 'a'"),
        "none": ({"c": None}, "output 'c' is None"),
        "unknown": ({"d": locked}, "the model has no output 'd'"),
    }[bad]
    with pytest.raises(dyn.UserError, match=words.replace("[", r"\[")):
        graph.run({"a": a, "b": b}, out=memory)


def test_strides_are_copied_for_a_run_and_refused_for_a_binding(scale, rng):
    base = rng.normal(size=(6, 10)).astype(numpy.float32)
    flat = base.ravel()
    call = dyn.Call(scale)
    for strided, expected in (
        (base[3, ::2], base[3, ::2]),
        (base[2, 8:3:-1], base[2, 8:3:-1]),
        (base[1:, 4], base[1:, 4]),
        (numpy.broadcast_to(base[0, :1], 5), base[0, [0] * 5]),
        (Producer(base, shape=(5,), strides=(11,)), flat[:55:11]),
        (OldProducer(base, shape=(5,), strides=(0,)), flat[[0] * 5]),
    ):
        numpy.testing.assert_allclose(scale.run({"x": strided, "y": numpy.ones(5, numpy.float32)})["z"], 2 * expected + 1, rtol=1e-6)
        with pytest.raises(dyn.UserError, match="input 'x' has strides of .* must be dense"):
            call.set_input("x", strided)


def test_strides_of_three_dims(rng):
    negative = dyn.Graph.from_text("dyn 1\ndim A\ndim B\ndim C\ngraph own(x: f32[A, B, C]) -> (y: f32[A, B, C]) {\n  y = neg(x)\n  return y\n}\n", threads=1)
    base = rng.normal(size=(4, 5, 6)).astype(numpy.float32)
    for axes in ((2, 0, 1), (1, 2, 0), (0, 2, 1)):
        turned = base.transpose(axes)[::-1, 1:]
        numpy.testing.assert_array_equal(negative.run({"x": turned})["y"], -turned)


def test_misaligned_memory_is_copied_for_a_run_and_refused_for_a_binding(scale, rng):
    values = rng.normal(size=5).astype(numpy.float32)
    crooked = numpy.frombuffer(b"?" + values.tobytes(), numpy.float32, offset=1)
    numpy.testing.assert_allclose(scale.run({"x": crooked, "y": values})["z"], 3 * values, rtol=1e-6)
    with pytest.raises(dyn.UserError, match="input 'x' is not aligned for elements of f32"):
        dyn.Call(scale).set_input("x", crooked)


def test_memory_in_the_middle_and_read_only(scale, rng):
    base = rng.normal(size=40).astype(numpy.float32)
    y = numpy.zeros(8, numpy.float32)
    numpy.testing.assert_allclose(scale.run({"x": Producer(base[16:], shape=(8,), offset=64), "y": y})["z"], 2 * base[16:24], rtol=1e-6)
    locked = dyn.Tensor(Producer(base, read_only=True))
    assert "read-only" in repr(locked) and not locked.numpy().flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        locked.__dlpack__()
    assert not numpy.from_dlpack(locked).flags.writeable
    with pytest.raises(dyn.UserError, match="output 'z' is a read-only view"):
        scale.run({"x": base[:8], "y": y}, out={"z": dyn.Tensor(Producer(base[:8], read_only=True))})


def test_a_producer_is_told_once_when_its_memory_is_free(scale, rng):
    x = rng.normal(size=6).astype(numpy.float32)
    for make in (Producer, OldProducer):
        dense, strided = make(x), make(x, shape=(3,), strides=(2,))
        scale.run({"x": dense, "y": x})
        assert dense.deleted == 1
        scale.run({"x": strided, "y": x[:3]})
        assert strided.deleted == 1
        kept = make(x)
        call = dyn.Call(scale)
        call.set_input("x", kept)
        assert kept.deleted == 0
        call.set_input("x", x)
        assert kept.deleted == 1
        wrong = make(x, dtype=(5, 64, 1))
        with pytest.raises(dyn.UserError):
            scale.run({"x": wrong, "y": x})
        assert wrong.deleted == 1
        seen = make(x)
        array = dyn.Tensor(seen).numpy()
        gc.collect()
        assert seen.deleted == 0
        del array
        gc.collect()
        assert seen.deleted == 1


def test_a_run_keeps_no_reference(scale, rng):
    x = rng.normal(size=6).astype(numpy.float32)
    before = sys.getrefcount(x)
    for _ in range(50):
        scale.run({"x": x, "y": x})
        with pytest.raises(dyn.UserError):
            scale.run({"x": x, "y": x[:2]})
    assert sys.getrefcount(x) == before
    call = dyn.Call(scale)
    call.set_input("x", x)
    assert sys.getrefcount(x) == before + 1
    with pytest.raises(ValueError, match="resize"):
        x.resize(1000)
    call.close()
    assert sys.getrefcount(x) == before


def test_bytes_that_are_lent_cannot_move(scale):
    memory = bytearray(24)
    call = dyn.Call(scale)
    call.set_input("x", memoryview(memory).cast("f"))
    with pytest.raises(BufferError):
        memory.extend(b"more")
    call.close()
    memory.extend(b"more")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"device": (CUDA, 1)}, r"input 'x' is on device 1 of DLPack's type 2 \(CUDA\)"),
        ({"device": (CUDA, 0), "asked": (1, 0)}, "DLPack's type 2"),  # says one thing, and gives another
        ({"device": (99, 0)}, "device 0 of DLPack's type 99,"),
        ({"dtype": (5, 64, 1)}, "DLPack's type 5 with 64 bits and 1 lanes"),
        ({"dtype": (2, 32, 4)}, "4 lanes"),
        ({"dtype": (1, 4, 1)}, "with 4 bits"),
        ({"shape": (-2,)}, "negative"),
        ({"shape": (2**40, 2**40)}, "63 bits"),
        ({"shape": (1,) * 65}, "more than 64 dims"),
        ({"version": (2, 0)}, r"DLPack's version 2\.0"),
        ({"data": 0}, "but no memory"),
    ],
)
def test_foreign_and_wrong_tensors_of_dlpack(scale, given, words):
    x = numpy.ones(6, numpy.float32)
    for use in (lambda own: scale.run({"x": own, "y": x}), lambda own: dyn.Call(scale).set_input("x", own)):
        with pytest.raises(dyn.UserError, match=words):
            use(Producer(x, **given))


class Broken:
    def __dlpack__(self, **_):
        raise RuntimeError("no\nway")


class NoCapsule:
    def __dlpack__(self, **_):
        return 7


class Interrupted:
    def __dlpack__(self, **_):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "input 'x' is None"),
        (object(), "input 'x' is an object"),
        ({}, "input 'x' is a dict"),
        ("text", "input 'x' is a str"),
        (b"bytes", "is u8"),
        (["a", "b"], "is a list of <U1"),
        ([1.0, [2.0]], "makes no array"),
        ([object()], "is a list of object"),
        (1j, "is a complex"),
        (numpy.zeros(6, "c8"), "elements of 'complex64'"),
        (numpy.zeros(6, ">f4"), "elements of '>f4'"),
        (numpy.zeros(6, object), "elements of 'object'"),
        (numpy.zeros(6, "U3"), "elements of '<U3'"),
        (numpy.zeros(6, "M8[s]"), "DLPack cannot pass on"),
        (numpy.zeros(6, [("a", "f4")]), "elements of"),
        (numpy.zeros(6), "input 'x' is f64, but the model's is f32"),
        (numpy.zeros((2, 3), numpy.float32), "input 'x'"),
        (Broken(), "cannot pass on: no way"),
        (NoCapsule(), "no capsule of DLPack that nobody has used yet, but an int"),
        (dyn.Tensor("bf16", (6,)), "input 'x' is bf16"),
    ],
)
def test_what_is_no_input(scale, given, words):
    y = numpy.zeros(6, numpy.float32)
    with pytest.raises(dyn.UserError, match=words) as caught:
        scale.run({"x": given, "y": y})
    assert caught.value.kind == "user" and caught.value.message in str(caught.value)


def test_an_interrupt_stays_one(scale):
    with pytest.raises(KeyboardInterrupt):
        scale.run({"x": Interrupted()})


def test_a_capsule_is_used_once(scale):
    x = numpy.ones(6, numpy.float32)

    class Twice:
        capsule = dyn.Tensor(x).__dlpack__()

        def __dlpack__(self, **_):
            return self.capsule

    numpy.testing.assert_array_equal(scale.run({"x": Twice(), "y": x})["z"], 3 * x)
    with pytest.raises(dyn.UserError, match="nobody has used yet"):
        scale.run({"x": Twice(), "y": x})


def test_lists_and_numbers(scale):
    assert scale.run({"x": [1, 2.5], "y": (3, 4)})["z"].tolist() == [5.0, 9.0]
    counts = dyn.Graph.from_text("dyn 1\ndim N\ngraph own(n: i32[N]) -> (m: i32[N]) {\n  m = n + n\n  return m\n}\n", threads=1)
    assert counts.run({"n": [3, 4]})["m"].tolist() == [6, 8]
    with pytest.raises(dyn.UserError, match="is a list of float64, but the model's is i32"):
        counts.run({"n": [1.5]})
    with pytest.raises(dyn.UserError, match="input 'n' is a list that NumPy makes no array of"):
        counts.run({"n": [2**40]})


@pytest.mark.parametrize("dtype", ["bf16", "f8e4m3fn", "f8e5m2", "i4", "u4"])
def test_dtypes_that_numpy_lacks(rng, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="python.ml_dtypes: the package ml_dtypes is not installed")
    element = {"bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "i4": "int4", "u4": "uint4"}[dtype]
    x = rng.integers(0, 7, (5, 3)).astype(getattr(ml_dtypes, element))
    y = dyn.Graph.from_text(move(dtype), threads=1).run({"x": x})["y"]
    assert type(y) is dyn.Tensor and y.dtype == dtype and y.shape == (3, 5)
    assert y.numpy().dtype == x.dtype and numpy.asarray(y).ctypes.data == y.address
    numpy.testing.assert_array_equal(y.numpy().astype(numpy.float32), x.T.astype(numpy.float32))
    again = dyn.Graph.from_text(move(dtype), threads=1).run({"x": dyn.Tensor(x)})["y"]
    numpy.testing.assert_array_equal(again.numpy().astype(numpy.float32), x.T.astype(numpy.float32))
    with pytest.raises(BufferError, match=dtype):
        memoryview(y)
    if dtype in ("i4", "u4"):
        with pytest.raises(BufferError, match="DLPack has no"):
            y.__dlpack__()
    else:
        assert dyn.Tensor(OldProducer(x.view("u1" if dtype != "bf16" else "u2"), dtype={"bf16": (4, 16, 1), "f8e4m3fn": (10, 8, 1), "f8e5m2": (12, 8, 1)}[dtype])).dtype == dtype


def test_tensors(rng):
    zeroed = dyn.Tensor("float64", (2, 0, 3))
    assert (zeroed.dtype, zeroed.shape, zeroed.nbytes) == ("f64", (2, 0, 3), 0) and zeroed.numpy().shape == (2, 0, 3)
    assert dyn.Tensor(numpy.int16, ()).numpy() == 0
    own = dyn.Tensor("f32", (2, 3))
    assert own.address % 64 == 0
    own.numpy()[:] = [[1, 2, 3], [4, 5, 6]]
    copied = numpy.array(own, copy=True)
    assert copied.ctypes.data != own.address and memoryview(own).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert numpy.asarray(own, numpy.float64).dtype == numpy.float64
    assert numpy.from_dlpack(own, copy=True).ctypes.data != own.address if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0" else True
    assert own.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="another device"):
        own.__dlpack__(dl_device=(CUDA, 0))
    for name in ("f33", "", None, object(), "complex64", numpy.dtype("U3")):
        with pytest.raises(dyn.UserError, match="there is no dtype"):
            dyn.Tensor(name, (2,))
    for shape, error in (((-1,), dyn.UserError), ((2**62, 2**62), dyn.UserError), ((2**100,), OverflowError), (("a",), TypeError), (7, TypeError), ((2**46,), dyn.DeviceError)):
        with pytest.raises(error):
            dyn.Tensor("f32", shape)
    with pytest.raises(dyn.UserError, match="the array has strides"):
        dyn.Tensor(numpy.zeros((3, 3), numpy.float32).T)


@pytest.mark.filterwarnings("ignore:nanobind")
def test_objects_that_were_never_initialised(scale):
    unmade = dyn.Tensor.__new__(dyn.Tensor)
    with pytest.raises(BufferError, match="never initialised"):
        memoryview(unmade)
    for use in (unmade.numpy, unmade.__dlpack__, lambda: repr(unmade), lambda: scale.run({"x": unmade}), lambda: dyn.Graph.__new__(dyn.Graph).run({}), dyn.Call.__new__(dyn.Call).run):
        with pytest.raises((TypeError, dyn.UserError)):
            use()
