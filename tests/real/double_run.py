"""An ONNX model in float64: every float of the file becomes a double, and ONNX' own reference evaluator runs it."""
import numpy
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

NARROW = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
TYPE_ATTRIBUTES = {"to", "dtype", "output_dtype", "output_datatype", "stash_type"}


def along(array, axis, rank):
    """A vector of one element for each place of an axis, so that it broadcasts."""
    return array.reshape([-1 if place == axis % rank else 1 for place in range(rank)]) if array.ndim == 1 and array.size > 1 else array.reshape(())


class QuantizeLinear(OpRun):
    """The evaluator's own knows the newest versions alone."""
    op_domain = ""

    def _run(self, x, scale, zero_point=None, axis=1, **_):
        zero_point = numpy.uint8(0) if zero_point is None else zero_point
        limits = numpy.iinfo(zero_point.dtype)
        whole = numpy.rint(x / along(numpy.asarray(scale), axis, x.ndim)) + along(numpy.asarray(zero_point), axis, x.ndim).astype(numpy.float64)
        return (numpy.clip(whole, limits.min, limits.max).astype(zero_point.dtype),)


class DequantizeLinear(OpRun):
    op_domain = ""

    def _run(self, x, scale, zero_point=None, axis=1, **_):
        zero = 0 if zero_point is None else along(numpy.asarray(zero_point), axis, x.ndim).astype(numpy.float64)
        return ((x.astype(numpy.float64) - zero) * along(numpy.asarray(scale), axis, x.ndim),)


def widen_tensor(tensor):
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(numpy.float64), tensor.name))


def widen_type(value):
    kind = value.type.tensor_type
    if kind.elem_type in NARROW:
        kind.elem_type = TensorProto.DOUBLE


def widen_node(node):
    for attribute in node.attribute:
        if attribute.name in TYPE_ATTRIBUTES and attribute.i in NARROW:
            attribute.i = TensorProto.DOUBLE
        if attribute.type == AttributeProto.TENSOR:
            widen_tensor(attribute.t)
        elif attribute.type == AttributeProto.GRAPH:
            widen_graph(attribute.g)
        elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
            numbers = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            attribute.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(numpy.array(numbers, numpy.float64))))


def widen_graph(graph):
    del graph.value_info[:]
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for value in (*graph.input, *graph.output):
        widen_type(value)
    for node in graph.node:
        widen_node(node)


class DoubleRun:
    def __init__(self, path):
        model = onnx.load(path)
        widen_graph(model.graph)
        for function in model.functions:
            for node in function.node:
                widen_node(node)
        self.evaluator = ReferenceEvaluator(model, new_ops=[QuantizeLinear, DequantizeLinear])

    def run(self, inputs):
        """Arrays by name; the outputs in the model's order."""
        wide = {name: array.astype(numpy.float64) if array.dtype in (numpy.float32, numpy.float16) else array for name, array in inputs.items()}
        return self.evaluator.run(None, wide)
