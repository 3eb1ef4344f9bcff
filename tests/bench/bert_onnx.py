"""BERT as an ONNX model, with weights by the names of examples/models/bert_base.dyn and bert_large.dyn. Needs numpy and onnx."""

import numpy
from onnx import TensorProto, helper, numpy_helper

from bert_sizes import DEPTH, layers_of, width_of


class Builder:
    """Collects the nodes and constants of an ONNX graph, as PyTorch exports BERT: opset 17, dynamic B and S."""

    def __init__(self, weights):
        self.width = width_of(weights)
        self.nodes = []
        self.initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]

    def constant(self, value, dtype):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.array(value, dtype=dtype), name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, x, name):
        return self.node("Add", self.node("MatMul", x, f"{name}.weight"), f"{name}.bias")

    def layer_norm(self, x, name):
        return self.node("LayerNormalization", x, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=1e-12)

    def heads(self, x, order):
        shape = self.constant([0, 0, self.width // DEPTH, DEPTH], numpy.int64)
        return self.node("Transpose", self.node("Reshape", x, shape), perm=order)

    def attention(self, x, hide, name):
        q = self.heads(self.linear(x, f"{name}.self.query"), [0, 2, 1, 3])
        k = self.heads(self.linear(x, f"{name}.self.key"), [0, 2, 3, 1])
        v = self.heads(self.linear(x, f"{name}.self.value"), [0, 2, 1, 3])
        scores = self.node("Div", self.node("MatMul", q, k), self.constant(DEPTH**0.5, numpy.float32))
        shares = self.node("Softmax", self.node("Add", scores, hide), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", shares, v), perm=[0, 2, 1, 3])
        joined = self.node("Reshape", mixed, self.constant([0, 0, self.width], numpy.int64))
        return self.layer_norm(self.node("Add", self.linear(joined, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, self.constant(2**0.5, numpy.float32)))
        factor = self.node("Add", erf, self.constant(1, numpy.float32))
        return self.node("Mul", self.node("Mul", x, factor), self.constant(0.5, numpy.float32))

    def embeddings(self):
        name = "embeddings."
        words = self.node("Gather", f"{name}word_embeddings.weight", "ids")
        types = self.node("Gather", f"{name}token_type_embeddings.weight", "type_ids")
        length = self.node("Gather", self.node("Shape", "ids"), self.constant([1], numpy.int64), axis=0)
        positions = self.node("Slice", f"{name}position_embeddings.weight", self.constant([0], numpy.int64), length,
                              self.constant([0], numpy.int64))
        total = self.node("Add", self.node("Add", words, types), positions)
        return self.layer_norm(total, f"{name}LayerNorm")

    def hide(self):
        mask = self.node("Unsqueeze", "mask", self.constant([1, 2], numpy.int64))
        hidden = self.node("Sub", self.constant(1, numpy.float32), mask)
        return self.node("Mul", hidden, self.constant(-10000, numpy.float32))


def build_onnx(weights):
    builder = Builder(weights)
    x = builder.embeddings()
    hide = builder.hide()
    for layer in range(layers_of(weights)):
        name = f"encoder.layer.{layer}"
        y = builder.attention(x, hide, f"{name}.attention")
        inner = builder.gelu(builder.linear(y, f"{name}.intermediate.dense"))
        x = builder.layer_norm(builder.node("Add", builder.linear(inner, f"{name}.output.dense"), y),
                               f"{name}.output.LayerNorm")
    inputs = [helper.make_tensor_value_info(name, kind, ["B", "S"])
              for name, kind in (("ids", TensorProto.INT64), ("type_ids", TensorProto.INT64), ("mask", TensorProto.FLOAT))]
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["B", "S", builder.width])]
    graph = helper.make_graph(builder.nodes, "bert", inputs, outputs, builder.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
