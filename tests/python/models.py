"""Models for the tests, as text and as ONNX."""

import numpy

SCALE = """dyn 1
dim N in 0..1000000
graph scale(x: f32[N], y: f32[N]) -> (z: f32[N]) {
  z = x * 2.0 + y
  return z
}
"""

#: Two dims, so that a transposed or misplaced operand shows.
PRODUCT = """dyn 1
dim M in 1..4096
dim K in 1..4096
graph product(a: f32[M, K], b: f32[K, 24]) -> (c: f32[M, 24], twice: f32[M, K]) {
  c = matmul(a, b)
  twice = a + a
  return c, twice
}
"""

#: The sum of all positions so far.
TOTALS = """dyn 1
dim B in 1..8 hint 2
dim S in 1..16
dim P in 0..64
dim C in 1..64 hint 64
state past: f32[B, C, 3]
graph totals(x: f32[B, S, 3]) -> (total: f32[B, 1, 3]) {
  all = slice(append(past, x) at=P axis=1) axes=[1] starts=[0] ends=[P + S]
  total = reduce_sum(all) axes=[1]
  return total
}
"""

#: Counts to `most`; with a great one a run does not come to its end in a minute.
COUNT = """dyn 1
dim T
body count(step: i64[], go: bool[], total: i64[T]) -> (goes_on: bool[], next: i64[T]) {
  next = total + step
  return go, next
}
dim N
dim K
graph g(x: i64[N], go: bool[], most: i64[]) -> (last: i64[N]) {
  last = loop(most, go, x) body=count carried=1 scanned=0 conditional=true steps=K dims=[N]
  return last
}
"""


def floats(rng, *shape):
    return rng.normal(0.3, 2, shape).astype(numpy.float32)


def move(dtype):
    """A model that gives its input's elements in another order."""
    return f"dyn 1\ndim N in 0..4096\ngraph move(x: {dtype}[N, 3]) -> (y: {dtype}[3, N]) {{\n  y = transpose(x) perm=[1, 0]\n  return y\n}}\n"


def onnx_model(nodes, inputs, outputs, weights=(), **fields):
    """The bytes of an ONNX model. inputs, outputs: (name, NumPy's dtype or "text", shape)."""
    import onnx
    from onnx import helper, numpy_helper

    def info(name, dtype, shape):
        number = onnx.TensorProto.STRING if dtype == "text" else helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        return helper.make_tensor_value_info(name, number, shape)

    graph = helper.make_graph(
        nodes, "made", [info(*own) for own in inputs], [info(*own) for own in outputs], [numpy_helper.from_array(array, name) for name, array in weights]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, **fields)
    if all(shape is not None for _, _, shape in [*inputs, *outputs]):
        onnx.checker.check_model(model)
    return model.SerializeToString()


def classifier(rng):
    """Rows of 13 features to probabilities of 5 classes, and the greatest of them."""
    from onnx import helper

    weights = [
        ("w", rng.normal(0.1, 0.5, (13, 29)).astype(numpy.float32)),
        ("bias", rng.normal(-0.2, 1, 29).astype(numpy.float32)),
        ("v", rng.normal(0.05, 0.7, (29, 5)).astype(numpy.float32)),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["h", "bias"], ["g"]),
        helper.make_node("Tanh", ["g"], ["t"]),
        helper.make_node("MatMul", ["t", "v"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("ArgMax", ["s"], ["best"], axis=-1, keepdims=0),
    ]
    return onnx_model(
        nodes,
        [("x", "float32", ["rows", 13])],
        [("p", "float32", ["rows", 5]), ("best", "int64", ["rows"])],
        weights,
        producer_name="dyn's tests",
        model_version=7,
        doc_string="a classifier",
        domain="org.example",
    )
