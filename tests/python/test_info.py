"""A loaded graph described."""

import dyn
import pytest
from models import PRODUCT, TOTALS, classifier

TEXT = """dyn 1
dim B in 1..8 hint 2
dim S in 8..512 multiple 8
dim N
graph own(x: f32[B, S, 3], n: i64[N]) -> (y: f32[B, S + S, 3], m: i64[N]) {
  y = concat(x, x) axis=1
  m = n + n
  return y, m
}
"""


def told(dim):
    return dim.kind, dim.text, dim.low, dim.high, dim.divisor, dim.hint, dim.computed


def test_dims():
    graph = dyn.Graph.from_text(TEXT, threads=1)
    assert [told(dim) for dim in graph.dims] == [
        ("named", "B", 1, 8, 1, 2, False),
        ("named", "S", 8, 512, 8, None, False),
        ("named", "N", 0, None, 1, None, False),
    ]
    x, n = graph.inputs
    y, _ = graph.outputs
    assert [told(dim) for dim in x.dims] == [told(graph.dims[0]), told(graph.dims[1]), ("constant", "3", 3, 3, 3, None, False)]
    assert x.shape == ("B", "S", 3) and n.shape == ("N",)
    assert [told(dim)[:5] for dim in y.dims[:2]] == [("named", "B", 1, 8, 1), ("expression", "S * 2", 16, 1024, 16)]
    assert [repr(dim) for dim in (*y.dims, *n.dims)] == [
        "<dyn.Dim B in 1..8, hint 2>",
        "<dyn.Dim S * 2 in 16..1024, a multiple of 16>",
        "<dyn.Dim 3>",
        "<dyn.Dim N in 0..>",
    ]
    assert str(y.dims[1]) == "S * 2" and graph.states == []
    with pytest.raises(AttributeError):
        x.dims[0].low = 3


def test_computed_dims():
    graph = dyn.Graph.from_text("dyn 1\ndim N in 0..9\ndim K\ngraph own(x: f32[N]) -> (p: i64[1, K]) {\n  p = nonzero(x) count=K\n  return p\n}\n", threads=1)
    [k] = [dim for dim in graph.dims if dim.text == "K"]
    assert told(k)[:2] == ("named", "K") and k.computed and "computed by the run" in repr(k)
    with pytest.raises(dyn.UserError):
        graph.kernels({"x": (3,)})


def test_states():
    [state] = dyn.Graph.from_text(TOTALS, threads=1).states
    assert (state.name, state.dtype, state.shape, state.axis) == ("past", "f32", "[B, C, 3]", 1)
    assert [dim.text for dim in state.dims] == ["B", "C", "3"]
    assert repr(state) == "<dyn.State past: f32[B, C, 3], appended along axis 1>"


def test_kernels():
    graph = dyn.Graph.from_text(PRODUCT, threads=1, isa="sse2")
    kernels = graph.kernels()
    assert [own.backbone for own in kernels] == ["elementwise", "matmul"]
    [product] = [own for own in kernels if own.backbone == "matmul"]
    assert "matmul" in product.operators and product.device == "cpu/sse2"
    assert repr(product) == f"<dyn.Kernel {product.name}: matmul ({', '.join(product.operators)}) on cpu/sse2>"
    choices = graph.kernels({"a": (40, 31), "b": (31, 24)})
    assert [own.kernel.name for own in choices] == [own.name for own in kernels]
    [chosen] = [own for own in choices if own.kernel.backbone == "matmul"]
    assert chosen.candidates > 1 and chosen.program and chosen.threads == 1 and 0 < chosen.predicted_seconds < 1
    assert chosen.flops == 2 * 40 * 31 * 24 and chosen.bytes >= 4 * (40 * 31 + 31 * 24 + 40 * 24)
    assert f"{chosen.program}, of {chosen.candidates} candidates>" in repr(chosen)
    assert graph.shapes_planned == 1
    for shapes, words in (({"a": (40, 31)}, "'b' is missing"), ({"q": (1,)}, "no input 'q'"), ({"a": 3}, "no sequence of sizes")):
        with pytest.raises(dyn.UserError, match=words):
            graph.kernels(shapes)
    with pytest.raises(TypeError):
        graph.kernels([1])


def test_metadata(rng):
    metadata = dyn.Graph.from_text(TEXT, threads=1).metadata
    assert (metadata.format, metadata.source, metadata.graph, metadata.opsets, metadata.version) == ("dyn", "<text>", "own", {}, 0)
    pytest.importorskip("onnx", reason="python.onnxruntime: onnx is not installed")
    metadata = dyn.Graph(classifier(rng)).metadata
    assert (metadata.format, metadata.source, metadata.graph, metadata.producer, metadata.producer_version) == ("onnx", "<memory>", "made", "dyn's tests", "")
    assert (metadata.domain, metadata.version, metadata.ir_version, metadata.description, metadata.graph_description) == ("org.example", 7, 9, "a classifier", "")
    assert metadata.opsets == {"": 18} and metadata.properties == {}
    assert repr(metadata) == "<dyn.Metadata onnx of <memory>: graph made, by dyn's tests, opset 18>"
