"""InferenceSession beside ONNX Runtime's."""

import pathlib
import queue
import threading

import dyn
import numpy
import pytest
from models import classifier, onnx_model

onnx = pytest.importorskip("onnx", reason="python.onnxruntime: onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="python.onnxruntime: ONNX Runtime is not installed")
CPU = ["CPUExecutionProvider"]


@pytest.fixture
def pair(rng):
    """One model in both, of bytes."""
    model = classifier(rng)
    return dyn.InferenceSession(model, providers=CPU), ort.InferenceSession(model, providers=CPU)


def rows(rng, count):
    return rng.normal(0.2, 1.3, (count, 13)).astype(numpy.float32)


def assert_same(own, other):
    assert len(own) == len(other)
    for mine, theirs in zip(own, other, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        if mine.dtype.kind == "f":
            numpy.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)
        else:
            numpy.testing.assert_array_equal(mine, theirs)


def test_runs(pair, rng):
    for count in (1, 7, 64, 3):
        feed = {"x": rows(rng, count)}
        assert_same(pair[0].run(None, feed), pair[1].run(None, feed))
        assert_same(pair[0].run([], feed), pair[1].run([], feed))
        assert_same(pair[0].run(["best", "p"], feed), pair[1].run(["best", "p"], feed))
        assert_same(pair[0].run(["best"], feed, dyn.RunOptions()), pair[1].run(["best"], feed, ort.RunOptions()))


def test_tells_the_same(pair):
    for own, other in zip(pair[0].get_inputs() + pair[0].get_outputs(), pair[1].get_inputs() + pair[1].get_outputs(), strict=True):
        assert (own.name, own.type, own.shape) == (other.name, other.type, other.shape)
        assert str(own) == str(other)
    mine, theirs = pair[0].get_modelmeta(), pair[1].get_modelmeta()
    for name in ("producer_name", "graph_name", "domain", "description", "graph_description", "version", "custom_metadata_map"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert pair[0].get_providers() == pair[1].get_providers() == CPU
    assert pair[0].get_provider_options() == pair[1].get_provider_options()
    assert pair[0].get_overridable_initializers() == []
    assert "InferenceSession on CPUExecutionProvider" in repr(pair[0])


def test_types_and_dims_of_every_sort():
    kinds = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
    inputs = [(f"i{n}", kind, ["batch", 3, "a.b-c", 1][: n % 5]) for n, kind in enumerate(kinds)]
    nodes = [onnx.helper.make_node("Identity", [name], ["o" + name[1:]]) for name, _, _ in inputs]
    model = onnx_model(nodes, inputs, [("o" + name[1:], kind, shape) for name, kind, shape in inputs])
    mine, theirs = dyn.InferenceSession(model), ort.InferenceSession(model)
    for own, other in zip(mine.get_inputs(), theirs.get_inputs(), strict=True):
        assert (own.name, own.type, len(own.shape)) == (other.name, other.type, len(other.shape))
        assert [size if isinstance(size, int) else None for size in own.shape] == [size if isinstance(size, int) else None for size in other.shape]


def test_dims_without_a_name_and_inputs_without_a_shape(rng):
    for shape in ([None, "rows", 3, None], None):
        model = onnx_model([onnx.helper.make_node("Neg", ["x"], ["y"])], [("x", "float32", shape)], [("y", "float32", shape)])
        mine, theirs = dyn.InferenceSession(model), ort.InferenceSession(model)
        assert [own.shape for own in mine.get_inputs()] == [other.shape for other in theirs.get_inputs()]
        x = rng.normal(size=(2, 5, 3, 4)).astype(numpy.float32)
        assert_same(mine.run(None, {"x": x}), theirs.run(None, {"x": x}))


def test_metadata_of_a_model(rng, tmp_path):
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    data = onnx_model([node], [("x", "float32", ["N"])], [("y", "float32", ["N"])], doc_string="ü", model_version=-3)
    model = onnx.load_from_string(data)
    model.graph.doc_string = "the graph"
    for key, value in (("author", "one"), ("licence", ""), ("", "nameless")):
        model.metadata_props.add(key=key, value=value)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    mine, theirs = dyn.InferenceSession(path).get_modelmeta(), ort.InferenceSession(path).get_modelmeta()
    for name in ("producer_name", "graph_name", "domain", "description", "graph_description", "custom_metadata_map"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert mine.version % 2**64 == theirs.version % 2**64
    del model.metadata_props[:]
    model.ClearField("model_version")
    bare = model.SerializeToString()
    assert dyn.InferenceSession(bare).get_modelmeta().version == ort.InferenceSession(bare).get_modelmeta().version


def test_paths_of_any_name(rng, tmp_path, pair):
    x = rows(rng, 3)
    for name in ("model.onnx", "model.ort", "model"):
        path = tmp_path / name
        path.write_bytes(classifier(numpy.random.default_rng(4)))
        for given in (path, str(path)):
            assert_same(dyn.InferenceSession(given).run(None, {"x": x}), ort.InferenceSession(str(tmp_path / "model.onnx")).run(None, {"x": x}))
    text = tmp_path / "m.dyn"
    text.write_text("dyn 1\ndim N\ngraph own(x: f32[N]) -> (y: f32[N]) {\n  y = neg(x)\n  return y\n}\n")
    session = dyn.InferenceSession(text)
    assert session.run(None, {"x": [1.5]})[0].tolist() == [-1.5] and session.get_modelmeta() == dyn.ModelMetadata(graph_name="own")


@pytest.fixture
def spread(rng, tmp_path):
    """The path of a model with two files of external data, and their contents."""
    from onnx import helper, numpy_helper

    w, v = rng.normal(size=(13, 300)).astype(numpy.float32), rng.normal(0, 0.01, (300, 7)).astype(numpy.float32)  # results are around 1
    node = helper.make_node
    own = onnx.load_from_string(
        onnx_model([node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["y"])], [("x", "float32", ["N", 13])], [("y", "float32", ["N", 7])], [("w", w), ("v", v)])
    )
    files = {}
    for tensor, name, array in zip(own.graph.initializer, ("w.bin", "data/v.bin"), (w, v), strict=True):
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        onnx.external_data_helper.set_external_data(tensor, name, offset=64, length=array.nbytes)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        files[name] = bytes(64) + array.tobytes()
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(files[name])
    path = tmp_path / "spread.onnx"
    path.write_bytes(own.SerializeToString())
    return path, files


def test_external_data_from_memory(spread, rng):
    """Two files that are not there, and one of two that are beside the model."""
    path, files = spread
    x = rows(rng, 4)
    expected = ort.InferenceSession(path).run(None, {"x": x})
    (path.parent / "model").write_bytes(path.read_bytes())
    assert_same(dyn.InferenceSession(path.parent / "model").run(None, {"x": x}), expected)

    longer = {name: content + b"more" for name, content in files.items()}  # ONNX Runtime does not keep what it is given

    def options_of(module, names):
        options = module.SessionOptions()
        given = [longer[name] for name in names]
        options.add_external_initializers_from_files_in_memory(names, given, [len(files[name]) for name in names])
        return options

    (path.parent / "w.bin").unlink()
    assert_same(dyn.InferenceSession(path, options_of(dyn, ["w.bin"])).run(None, {"x": x}), expected)
    (path.parent / "data/v.bin").unlink()
    data = path.read_bytes()
    for source in (data, path):
        session = dyn.InferenceSession(source, options_of(dyn, list(files)))
        assert_same(session.run(None, {"x": x}), expected)
    assert_same(ort.InferenceSession(data, options_of(ort, list(files))).run(None, {"x": x}), expected)
    with pytest.raises(dyn.Error, match="data/v.bin"):
        dyn.InferenceSession(data, options_of(dyn, ["w.bin"]))
    with pytest.raises(dyn.Error, match="data/v.bin"):
        dyn.InferenceSession(path, options_of(dyn, ["w.bin"]))
    options = dyn.SessionOptions()
    for given, words in (
        ((["a"], [b"1"], []), "three lists of one length"),
        (("a", b"1", 1), "three lists of one length"),
        (([1], [b"1"], [1]), "a str, not 1"),
        ((["a"], ["1"], [1]), "of 'a' are no dense bytes"),
        ((["a"], [b"12"], [3]), "of 'a' are 2 bytes, and 3 of them are wanted"),
        ((["a"], [b"12"], [-1]), "-1 of them"),
    ):
        with pytest.raises(dyn.UserError, match=words):
            options.add_external_initializers_from_files_in_memory(*given)


def test_io_binding(pair, rng):
    x = rows(rng, 5)
    memory = numpy.zeros((5, 5), numpy.float32)
    results = []
    for session, module in zip(pair, (dyn, ort), strict=True):
        binding = session.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("best")
        binding.bind_output("p", "cpu", 0, numpy.float32, (5, 5), memory.ctypes.data)
        session.run_with_iobinding(binding)
        best, p = binding.get_outputs()
        assert (best.data_type(), best.shape(), best.device_name(), best.element_type()) == ("tensor(int64)", [5], "cpu", 7)
        assert p.data_ptr() == memory.ctypes.data
        copied = binding.copy_outputs_to_cpu()
        results.append([copied[0].copy(), memory.copy()])
        assert_same([copied[1]], [memory])
        binding.clear_binding_outputs()
        held = module.OrtValue.ortvalue_from_shape_and_type([5], numpy.int64)
        binding.bind_ortvalue_output("best", held)
        binding.clear_binding_inputs()
        binding.bind_ortvalue_input("x", module.OrtValue.ortvalue_from_numpy(x[::-1].copy()))
        session.run_with_iobinding(binding)
        results[-1].append(held.numpy().copy())
        assert [own.data_ptr() for own in binding.get_outputs()] == [held.data_ptr()]
        binding.bind_input("x", "cpu", 0, numpy.float32, x.shape, x.ctypes.data)
        session.run_with_iobinding(binding)
        assert_same([held.numpy()], [results[-1][0]])
    assert_same(*results)


def test_a_binding_reads_what_its_memory_has(pair, rng):
    x = rows(rng, 4)
    session = pair[0]
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("p")
    session.run_with_iobinding(binding)
    [first] = binding.copy_outputs_to_cpu()
    kept = first.copy()
    x[:] = rows(rng, 4)
    session.run_with_iobinding(binding)
    assert_same([first], [kept])  # each run makes its own outputs
    assert_same(binding.copy_outputs_to_cpu(), pair[1].run(["p"], {"x": x}))


def test_bindings_that_are_refused(pair, rng):
    session = pair[0]
    binding = session.io_binding()
    x = rows(rng, 2)
    for use, error, words in (
        (lambda: binding.bind_cpu_input("q", x), dyn.UserError, "no input 'q'"),
        (lambda: binding.bind_cpu_input("x", None), dyn.UserError, "input 'x' is bound to None"),
        (lambda: binding.bind_output("q"), dyn.UserError, "no output 'q'"),
        (lambda: binding.bind_output("p", "cuda"), dyn.UnsupportedError, "output 'p' on the device 'cuda'"),
        (lambda: binding.bind_input("x", "cuda", 0, numpy.float32, (2, 13), 64), dyn.UnsupportedError, "'cuda'"),
        (lambda: binding.bind_input("x", "cpu", 0, numpy.float32, (2, 13), 0), dyn.UserError, "null pointer"),
        (lambda: binding.bind_input("x", "cpu", 0, numpy.float32, (2, 13), x.ctypes.data + 2), dyn.UserError, "no multiple of their 4 bytes"),
        (lambda: binding.bind_output("p", "cpu", 0, numpy.float32, (2, 5), -4), dyn.UserError, "output 'p' is bound to -4, which is no address"),
        (lambda: binding.bind_output("p", buffer_ptr=x.ctypes.data), dyn.UserError, "without its element type"),
        (lambda: binding.bind_ortvalue_input("x", x), dyn.UserError, "no dyn.OrtValue"),
        (lambda: binding.bind_output("p", element_type=99, shape=(1,), buffer_ptr=64), dyn.UserError, "element type 99"),
        (lambda: session.run_with_iobinding(binding), dyn.UserError, "no output is bound"),
        (lambda: session.run_with_iobinding(None), dyn.UserError, "an IOBinding of this InferenceSession"),
        (lambda: session.run_with_iobinding(dyn.InferenceSession(classifier(rng)).io_binding()), dyn.UserError, "an IOBinding of this"),
    ):
        with pytest.raises(error, match=words):
            use()
    binding.bind_output("p")
    with pytest.raises(dyn.UserError, match="input 'x' is missing"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", x.astype(numpy.float64))
    with pytest.raises(dyn.UserError, match="input 'x' is f64"):
        session.run_with_iobinding(binding)


def test_ort_values(pair, rng):
    x = rows(rng, 3)
    value = dyn.OrtValue.ortvalue_from_numpy(x)
    assert value.data_ptr() == x.ctypes.data and value.shape() == [3, 13] and value.data_type() == "tensor(float)" and value.is_tensor() and value.has_value()
    assert value.tensor_size_in_bytes() == x.nbytes and numpy.shares_memory(value.numpy(), x) and numpy.shares_memory(numpy.from_dlpack(value), x)
    outputs = pair[0].run_with_ort_values(["p", "best"], {"x": value})
    assert [type(own) for own in outputs] == [dyn.OrtValue] * 2
    assert_same([own.numpy() for own in outputs], pair[1].run(["p", "best"], {"x": x}))
    assert_same(pair[0].run(None, {"x": value}), pair[1].run(None, {"x": x}))
    fresh = rows(rng, 3)
    value.update_inplace(fresh)
    numpy.testing.assert_array_equal(x, fresh)
    turned = dyn.OrtValue.ortvalue_from_numpy(x.T)
    assert turned.data_ptr() != x.ctypes.data
    numpy.testing.assert_array_equal(turned.numpy(), x.T)
    made = dyn.OrtValue.ortvalue_from_shape_and_type((2, 3), 11)
    assert made.data_type() == "tensor(double)" and made.element_type() == 11 and not made.numpy().any()
    assert dyn.OrtValue.from_dlpack(x).data_ptr() == x.ctypes.data
    for use, error, words in (
        (lambda: dyn.OrtValue.ortvalue_from_numpy(None), dyn.UserError, "not of None"),
        (lambda: dyn.OrtValue.ortvalue_from_numpy(x, "cuda"), dyn.UnsupportedError, "'cuda'"),
        (lambda: dyn.OrtValue.ortvalue_from_numpy(numpy.array(["a"])), dyn.UserError, "the array has elements of '<U1'"),
        (lambda: dyn.OrtValue.ortvalue_from_shape_and_type((2,), "float33"), dyn.UserError, "there is no dtype 'float33'"),
        (lambda: dyn.OrtValue.ortvalue_from_shape_and_type((-2,), numpy.float32), dyn.UserError, "negative"),
        (lambda: value.update_inplace(fresh[:2]), dyn.UserError, "cannot take"),
        (lambda: value.update_inplace(fresh.astype(numpy.float64)), dyn.UserError, "cannot take"),
    ):
        with pytest.raises(error, match=words):
            use()


@pytest.mark.parametrize(
    ("feed", "names", "words"),
    [
        ({}, None, "input 'x' is missing"),
        ({"y": 1}, None, "the model has no input 'y'"),
        ({"x": None}, None, "input 'x' is None"),
        (None, None, "inputs are a mapping from names to arrays, not None"),
        ([1], None, "inputs are a mapping"),
        ({"x": numpy.zeros((2, 13))}, None, r"input 'x' is f64, but the model's is f32\["),
        ({"x": numpy.zeros((2, 12), numpy.float32)}, None, "12"),
        ({"x": numpy.zeros(13, numpy.float32)}, None, "input 'x'"),
        ({"x": numpy.zeros((2, 13), numpy.float32)}, ["q"], "the model has no output 'q'"),
        ({"x": numpy.zeros((2, 13), numpy.float32)}, [None], "a name or a number"),
    ],
)
def test_runs_that_both_refuse(pair, feed, names, words):
    with pytest.raises(dyn.UserError, match=words):
        pair[0].run(names, feed)
    with pytest.raises(Exception):  # noqa: B017
        pair[1].run(names, feed)


def test_runs_that_are_terminated(pair, rng):
    feed = {"x": rows(rng, 4)}
    expected = pair[1].run(None, feed)
    for session, module, error in zip(pair, (dyn, ort), (dyn.CancelledError, Exception), strict=True):
        options = module.RunOptions()
        options.terminate = True
        with pytest.raises(error):
            session.run(None, feed, options)
        assert options.terminate
        options.terminate = False
        assert_same(session.run(None, feed, options), expected)
    options = dyn.RunOptions()
    options.terminate = True
    binding = pair[0].io_binding()
    binding.bind_cpu_input("x", feed["x"])
    binding.bind_output("p")
    for use in (
        lambda: pair[0].run_with_iobinding(binding, options),
        lambda: pair[0].run_with_ort_values(None, {"x": dyn.OrtValue.ortvalue_from_numpy(feed["x"])}, options),
    ):
        with pytest.raises(dyn.CancelledError):
            use()
    pair[0].run_with_iobinding(binding)
    assert_same(binding.copy_outputs_to_cpu(), expected[:1])


def test_runs_beside_the_caller(pair, rng):
    feed = {"x": rows(rng, 4)}
    for session, module in zip(pair, (dyn, ort), strict=True):
        heard = queue.Queue()
        data = object()

        def callback(outputs, user_data, error, heard=heard):
            heard.put((outputs, user_data, error, threading.get_ident()))

        session.run_async(["best", "p"], feed, callback, data)
        outputs, user_data, error, thread = heard.get(timeout=60)
        assert user_data is data and error == "" and thread != threading.get_ident()
        assert_same(outputs, pair[1].run(["best", "p"], feed))
        session.run_async(None, feed, callback, None, module.RunOptions())
        assert_same(heard.get(timeout=60)[0], pair[1].run(None, feed))
        session.run_async(["p"], {"x": feed["x"][:, 1:]}, callback, 7)
        outputs, user_data, error, _ = heard.get(timeout=60)
        assert list(outputs) == [] and user_data == 7 and "12" in error
    options = dyn.RunOptions()
    options.terminate = True
    pair[0].run_async(None, feed, callback, None, options)
    assert "cancelled" in heard.get(timeout=60)[2]


def test_options_that_it_understands(rng):
    model = classifier(rng)
    x = rows(rng, 4)
    expected = ort.InferenceSession(model).run(None, {"x": x})
    options = dyn.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 2
    options.graph_optimization_level = dyn.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.execution_mode = dyn.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute = True
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.enable_profiling = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert "intra_op_num_threads=1" in repr(options)
    for given in (
        {"sess_options": options},
        {"providers": ["CPUExecutionProvider"]},
        {"providers": [("CPUExecutionProvider", {"threads": "1", "deterministic": "true", "weights": "f32"})]},
        {"providers": CPU, "provider_options": [{"isa": "sse2"}]},
    ):
        session = dyn.InferenceSession(model, **given)
        assert_same(session.run(None, {"x": x}), expected)
    assert session.get_provider_options() == {"CPUExecutionProvider": {"isa": "sse2"}}
    assert dyn.InferenceSession(model, options).get_session_options() is options
    if "CUDAExecutionProvider" not in dyn.get_available_providers():
        with pytest.warns(UserWarning, match="CUDAExecutionProvider is not there; trying CPUExecutionProvider"):
            session = dyn.InferenceSession(model, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        assert session.get_providers() == CPU and dyn.get_device() == "CPU"
        with pytest.raises(dyn.Error):
            dyn.InferenceSession(model, providers=["CUDAExecutionProvider"])
    assert set(dyn.get_available_providers()) <= set(dyn.get_all_providers())


def plug_in(path):
    options = dyn.SessionOptions()
    options.register_custom_ops_library(path)
    return options


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda model: dyn.InferenceSession(model, providers=["TensorrtExecutionProvider"]), dyn.UnsupportedError, "no provider 'TensorrtExecutionProvider'"),
        (lambda model: dyn.InferenceSession(model, providers="CPUExecutionProvider"), dyn.UserError, "a list of names"),
        (lambda model: dyn.InferenceSession(model, providers=CPU, provider_options=[{"arena": 1}]), dyn.UnsupportedError, "'arena' of CPUExecutionProvider"),
        (lambda model: dyn.InferenceSession(model, providers=CPU, provider_options=[{"device": "cuda"}]), dyn.UnsupportedError, "'device'"),
        (lambda model: dyn.InferenceSession(model, providers=CPU, provider_options=[{"threads": "two"}]), dyn.UserError, "'threads' takes an int, not 'two'"),
        (lambda model: dyn.InferenceSession(model, providers=CPU, provider_options=[{}, {}]), dyn.UserError, "2 provider_options for 1 providers"),
        (lambda model: dyn.InferenceSession(model, ort.SessionOptions()), dyn.UserError, "a dyn.SessionOptions"),
        (lambda model: dyn.InferenceSession(None), dyn.UserError, "not None"),
        (lambda model: dyn.InferenceSession(b"\x08"), dyn.ModelError, "not a whole ONNX model"),
        (lambda model: dyn.InferenceSession(model[:-9]), dyn.ModelError, ""),
        (lambda model: dyn.InferenceSession("/nowhere"), dyn.DeviceError, "cannot read '/nowhere'"),
        (lambda model: dyn.InferenceSession(model).run(None, {}, ort.RunOptions()), dyn.UserError, "a dyn.RunOptions"),
        (lambda model: dyn.InferenceSession(model, plug_in("/nowhere.so")), dyn.Error, "/nowhere.so"),
        (lambda model: dyn.InferenceSession(model, operators=[3]), dyn.UserError, "'operators' takes a list of dyn.Operator, not 3"),
        (lambda model: dyn.SessionOptions().add_session_config_entry("ep.stop", "1"), dyn.UnsupportedError, "'ep.stop'"),
        (lambda model: dyn.SessionOptions().get_session_config_entry("ep.stop"), dyn.UserError, "'ep.stop'"),
        (lambda model: setattr(dyn.SessionOptions(), "threads", 2), dyn.UnknownOptionError, r"SessionOptions\.threads is no option"),
        (lambda model: setattr(dyn.SessionOptions(), "intra_op_num_threads", "2"), dyn.UserError, "takes int, not '2'"),
        (lambda model: setattr(dyn.SessionOptions(), "intra_op_num_threads", True), dyn.UserError, "takes int, not True"),
        (lambda model: setattr(dyn.SessionOptions(), "optimized_model_filepath", "x"), dyn.UnsupportedError, "optimized_model_filepath"),
        (lambda model: dyn.InferenceSession(model).run_async(["q"], {}, print, None), dyn.UserError, "no output 'q'"),
        (lambda model: dyn.InferenceSession(model).run_async(None, {}, 3, None), dyn.UserError, "is a function of outputs, user_data and an error, not 3"),
        (lambda model: dyn.InferenceSession(model).run_async(None, {"q": 1}, print, None), dyn.UserError, "no input 'q'"),
        (lambda model: dyn.RunOptions().add_run_config_entry("a", "b"), dyn.UnknownOptionError, "add_run_config_entry"),
        (lambda model: dyn.set_default_logger_severity(7), dyn.UserError, "0 to 4, not 7"),
    ],
)
def test_what_it_does_not_understand_is_refused_by_name(rng, use, error, words):
    with pytest.raises(error, match=words or None):
        use(classifier(rng))


def test_options_say_what_they_lack():
    assert not hasattr(dyn.SessionOptions(), "add_initializer") and hasattr(dyn.SessionOptions(), "logid")


def test_a_model_from_bytes_leaves_no_file(rng, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    session = dyn.InferenceSession(classifier(rng))
    with pytest.raises(dyn.ModelError):
        dyn.InferenceSession(b"nothing")
    assert list(tmp_path.iterdir()) == []
    assert session.run(["best"], {"x": rows(rng, 2)})[0].shape == (2,)


def test_a_model_that_values_decide_runs_from_bytes(rng):
    """It is imported again by runs, long after its bytes are gone."""
    nodes = [onnx.helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    model = onnx_model(nodes, [("x", "float32", ["A", "B"]), ("axes", "int64", [1])], [("y", "float32", ["C"])])
    session = dyn.InferenceSession(model)
    del model
    x = rng.normal(size=(3, 5)).astype(numpy.float32)
    for axis in (0, 1, 0):
        [y] = session.run(None, {"x": x, "axes": numpy.array([axis])})
        numpy.testing.assert_allclose(y, x.sum(axis), rtol=1e-5, atol=1e-5)


def test_names_are_those_of_onnx_runtime():
    """Whoever swaps the import finds these."""
    for name in dyn.__all__:
        if hasattr(ort, name) and isinstance(getattr(dyn, name), type):
            for member in vars(getattr(dyn, name)):
                if not member.startswith("_"):
                    theirs = getattr(ort, name)
                    assert hasattr(theirs, member) or name == "ModelMetadata", f"{name}.{member} is not ONNX Runtime's"
    assert pathlib.Path(dyn.__file__).with_name("py.typed").exists()
