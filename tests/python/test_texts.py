"""Texts as arrays of str."""

import dyn
import numpy
import pytest
from models import onnx_model

onnx = pytest.importorskip("onnx", reason="python.onnxruntime: onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="python.onnxruntime: ONNX Runtime is not installed")


@pytest.fixture(scope="module")
def model():
    """Colours to numbers, and as they are."""
    nodes = [
        onnx.helper.make_node("LabelEncoder", ["colour"], ["number"], domain="ai.onnx.ml", keys_strings=["red", "grün", ""], values_int64s=[3, 5, 8], default_int64=-1),
        onnx.helper.make_node("Identity", ["colour"], ["same"]),
    ]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "colours",
        [info("colour", onnx.TensorProto.STRING, ["N", 2])],
        [info("number", onnx.TensorProto.INT64, ["N", 2]), info("same", onnx.TensorProto.STRING, ["N", 2])],
    )
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


WORDS = [["red", "unknown"], ["grün", ""], ["tail\0", "red"]]


def test_texts_of_runs_beside_their_caller(model):
    graph = dyn.Graph(model, threads=1)
    words = [[["red", f"tail {n}"], ["", f"grün {n}"]] for n in range(6)]
    for future, own in zip([graph.run_async({"colour": own}) for own in words], words, strict=True):
        outputs = future.result(60)
        assert outputs["same"].tolist() == own and outputs["number"].tolist() == [[3, -1], [8, -1]]


def test_runs_beside_onnx_runtime(model):
    mine, theirs = dyn.InferenceSession(model), ort.InferenceSession(model)
    assert [own.type for own in mine.get_inputs() + mine.get_outputs()] == ["tensor(string)", "tensor(int64)", "tensor(string)"]
    feed = {"colour": numpy.array(WORDS[:2], object)}
    for own, other in zip(mine.run(None, feed), theirs.run(None, feed), strict=True):
        assert own.dtype == other.dtype
        numpy.testing.assert_array_equal(own, other)


def test_arrays_of_every_kind(model):
    graph = dyn.Graph.load(model)
    assert graph.inputs[0].texts is not None and "red" in graph.inputs[0].texts and "text" in repr(graph)
    numbers = [[3, -1], [5, 8], [-1, 3]]
    for given in (WORDS, numpy.array(WORDS, object)):
        outputs = graph.run({"colour": given})
        assert outputs["number"].tolist() == numbers and outputs["same"].tolist() == WORDS
    for given in (numpy.array(WORDS[:2]), numpy.char.encode(numpy.array(WORDS[:2]), "utf-8")):
        outputs = graph.run({"colour": given})
        assert outputs["number"].tolist() == numbers[:2] and outputs["same"].tolist() == WORDS[:2]
    empty = graph.run({"colour": numpy.zeros((0, 2), object)})
    assert empty["same"].shape == (0, 2)
    odd = [["\udcff", "red"]]  # a byte that is no UTF-8
    assert graph.run({"colour": odd})["same"].tolist() == odd


def test_calls_encode_once(model):
    graph = dyn.Graph.load(model)
    call = dyn.Call(graph)
    call.set_input("colour", WORDS)
    for _ in range(2):
        call.run()
        assert call.output("same").tolist() == WORDS
    call.set_input("colour", [["new", "red"]])
    call.run()
    assert call.output("same").tolist() == [["new", "red"]] and call.output("number").tolist() == [[-1, 3]]


def test_runs_forget_texts_that_the_model_does_not_know(model):
    graph = dyn.Graph.load(model)
    assert graph.run({"colour": [["stranger", "red"]]})["same"].tolist() == [["stranger", "red"]]
    places = numpy.array([[-1, graph.inputs[0].texts.index("red")]])
    with pytest.raises(dyn.UserError, match="output 'same' has the element -1"):
        graph.run({"colour": places})
    assert graph.run({"colour": places[:, [1, 1]]})["same"].tolist() == [["red", "red"]]


def test_what_is_no_text(model):
    graph = dyn.Graph.load(model)
    for given, words in ((None, "is None, but it has texts"), ([[1, 2]], "an element is an int"), (numpy.zeros((1, 2)), "an element is a float"), ([["a"]], "input 'colour'"), ([["a", None]], "an element is None")):
        with pytest.raises(dyn.UserError, match=words):
            graph.run({"colour": given})
    with pytest.raises(dyn.UnsupportedError, match="output 'same' has texts"):
        dyn.InferenceSession(model).run_with_ort_values(None, {"colour": numpy.array(WORDS, object)})
