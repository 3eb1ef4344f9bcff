"""Quantised operators."""
import numpy
import onnx
from onnx import helper, numpy_helper

from contrib.one_node import NEWER, OPSET, Case, case, conv_of, heads_of, key_mask, matmul_shapes, shape_of


BYTES = [numpy.uint8, numpy.int8]


def byte(c):
    return c.draw.choice(BYTES)


def scale_of(c, *shape):
    return c.numbers.uniform(0.005, 0.05, shape).astype(numpy.float32)


def zero_of(c, dtype, *shape):
    middle = 128 if dtype == numpy.uint8 else 0
    return c.whole(dtype, *shape, low=middle - 20, high=middle + 20)


def factor_of(c, dtype, shape):
    """A right factor with its scale and zero point, which are one or one for each column."""
    columns = [shape[-1]] if c.flip() else []
    return c.whole(dtype, *shape), scale_of(c, *columns), zero_of(c, dtype, *columns)


@case
def DynamicQuantizeMatMul(draw):
    c = Case(draw, "DynamicQuantizeMatMul")
    batch, m, k, n = matmul_shapes(c)
    b, scale, zero = factor_of(c, byte(c), [k, n])
    constant = c.flip(0.7)
    c.put(c.floats(*batch, m, k)).put(b, constant=constant, fixed=(0, 1)).put(scale, constant=constant, fixed=range(scale.ndim))
    return c.maybe(zero, constant=constant, fixed=range(zero.ndim)).maybe(c.floats(n))


@case
def MatMulIntegerToFloat(draw):
    c = Case(draw, "MatMulIntegerToFloat")
    batch, m, k, n = matmul_shapes(c)
    left, constant = numpy.uint8, c.flip(0.7)
    b, scale, zero = factor_of(c, byte(c), [k, n])
    c.put(c.whole(left, *batch, m, k)).put(b, constant=constant, fixed=(0, 1)).put(scale_of(c)).put(scale, constant=constant, fixed=range(scale.ndim))
    return c.maybe(zero_of(c, left)).maybe(zero, constant=constant, fixed=range(zero.ndim)).maybe(c.floats(n))


@case
def QGemm(draw):
    c = Case(draw, "QGemm")
    m, k, n = c.size(), c.size(1, 30), c.size(1, 20)
    turned = [c.draw.randint(0, 1), c.draw.randint(0, 1)]
    left, constant, whole = byte(c), c.flip(0.7), c.flip()
    b, scale, zero = factor_of(c, draw.choice(BYTES) if left == numpy.uint8 else numpy.int8, [k, n])
    c.put(c.whole(left, *([k, m] if turned[0] else [m, k]))).put(scale_of(c), constant=True).put(zero_of(c, left), constant=True)
    c.put(b.T if turned[1] else b, constant=constant, fixed=(0, 1)).put(scale, constant=True).put(zero, constant=True)
    c.maybe(c.whole(numpy.int32, *draw.choice([[n], [1, n], [m, n], [m, 1]]), low=-3000, high=3000))
    if whole:
        c.put(numpy.float32(0.3), constant=True).put(zero_of(c, left), constant=True)
    return c.set(transA=turned[0], transB=turned[1], alpha=draw.choice([1.0, 0.5]))


@case
def QAttention(draw):
    c = Case(draw, "QAttention")
    batch, queries, heads, size = heads_of(c)
    width, past, left = c.size(1, 20), c.draw.choice([0, 0, 3]), numpy.uint8
    b, scale, zero = factor_of(c, byte(c), [width, 3 * heads * size])
    c.put(c.whole(left, batch, queries, width), fixed=(-1,)).put(b, constant=True).put(c.floats(3 * heads * size), fixed=(0,)).put(numpy.float32(0.01), constant=True).put(scale, constant=True)
    c.put(key_mask(c, batch, queries, past + queries, ["none", "by_key", "lengths"])).put(zero_of(c, left), constant=True).put(zero, constant=True)
    c.put(c.floats(2, batch, heads, past, size), fixed=(0, 2, 4)) if past else c.put(None)
    c.outputs = 2 if past else 1
    return c.set(num_heads=heads, unidirectional=c.draw.randint(0, 1))


@case
def MatMulNBits(draw):
    c = Case(draw, "MatMulNBits")
    bits = draw.choice([2, 4, 4, 8] if NEWER else [4])
    n, k, block = c.size(1, 20), c.size(1, 100), draw.choice([16, 32, 64])
    blocks = -(-k // block)
    batch = [c.size(1, 3) for _ in range(c.draw.randint(0, 2))]
    c.put(c.floats(*batch, c.size(), k), fixed=(-1,)).put(c.whole(numpy.uint8, n, blocks, block * bits // 8), constant=True).put(scale_of(c, n, blocks) if NEWER else scale_of(c, n * blocks), constant=True)
    row = -(-blocks * bits // 8)
    packed = c.whole(numpy.uint8, *([n, row] if NEWER else [n * row]))
    zeros = draw.choice([None, packed])
    # Whole blocks in any order, as quantisers that sort by activations write them. ONNX Runtime has them for 4 bits alone, and then leaves zero points out.
    order = draw.sample([i // block for i in range(k)], k) if bits == 4 and zeros is None and c.flip() else None
    c.put(zeros, constant=True).put(None if order is None else numpy.array(order, numpy.int32), constant=True).maybe(c.floats(n), fixed=(0,))
    return c.set(N=n, K=k, block_size=block, bits=bits)


def GatherBlockQuantized(draw):
    c = Case(draw, "GatherBlockQuantized")
    bits, block = draw.choice([4, 8]), draw.choice([16, 32])
    rows, width = c.size(2, 9), block * c.size(1, 3) // 2
    blocks = -(-width // block)
    c.put(c.whole(numpy.uint8, rows, width * bits // 8), constant=True).put(c.whole(numpy.int64, *shape_of(c), low=0, high=rows - 1)).put(scale_of(c, rows, blocks), constant=True)
    return c.maybe(c.whole(numpy.uint8, rows, -(-blocks * bits // 8)), constant=True).set(bits=bits, block_size=block, quantize_axis=1, gather_axis=0)


if NEWER:
    case(GatherBlockQuantized)  # ONNX Runtime 1.20 has it for other dtypes alone


def lstm_of_floats(c):
    """A DynamicQuantizeLSTM whose inputs and state nobody quantises."""
    given = {tensor.name: numpy_helper.to_array(tensor) for tensor in c.constants} | c.fed
    x, w, r, *others = [given.get(name) for name in c.names + [""] * (12 - len(c.names))]

    def floats(weights, scale, zero):
        each = [numpy.asarray(part, numpy.float32).reshape(len(weights), 1, -1) for part in (scale, zero)]
        return ((weights.astype(numpy.float32) - each[1]) * each[0]).transpose(0, 2, 1)

    fed = dict(zip("XWRBLHCP", [x, floats(w, *others[5:7]), floats(r, *others[7:9])] + others[:5]))
    node = helper.make_node("LSTM", [name if array is not None else "" for name, array in fed.items()], ["o0", "o1", "o2"], **c.attributes)
    fed = {name: array for name, array in fed.items() if array is not None}
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in fed.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in node.output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), fed


@case
def DynamicQuantizeLSTM(draw):
    c = Case(draw, "DynamicQuantizeLSTM")
    steps, batch, width, hidden = c.size(1, 6), c.size(1, 3), c.size(1, 12), c.size(1, 8)
    way, ways = draw.choice([("forward", 1), ("reverse", 1), ("bidirectional", 2)])
    dtype, columns = byte(c), [4 * hidden] if c.flip() else []
    c.put(c.floats(steps, batch, width), fixed=(-1,)).put(c.whole(dtype, ways, width, 4 * hidden), constant=True).put(c.whole(dtype, ways, hidden, 4 * hidden), constant=True)
    c.maybe(c.floats(ways, 8 * hidden)).maybe(c.whole(numpy.int32, batch, low=1, high=steps))
    c.maybe(c.floats(ways, batch, hidden)).maybe(c.floats(ways, batch, hidden)).maybe(c.floats(ways, 3 * hidden))
    middle = numpy.full([ways], 128 if dtype == numpy.uint8 else 0, dtype)
    for _ in range(2):
        zero = numpy.zeros([ways] + columns, dtype) if columns else middle if c.flip() else zero_of(c, dtype, ways)
        c.put(scale_of(c, ways, *columns) / 5, constant=True).put(zero, constant=True)
    c.outputs, c.tolerance = 3, 0.01  # ONNX Runtime quantises the state of all rows at once, dyn that of each row
    c.set(hidden_size=hidden, direction=way)
    c.exact = lstm_of_floats(c)
    return c


def quantized(c, dtype, *shape, optional=True, constant=False):
    """A tensor with its scale and zero point as the next three inputs."""
    c.put(c.whole(dtype, *shape), constant=constant).put(scale_of(c), constant=True)
    return c.maybe(zero_of(c, dtype), chance=0.8 if optional else 1, constant=True)


def result_of(c, dtype, scale, zero=True):
    return c.put(numpy.float32(scale), constant=True).put(zero_of(c, dtype) if zero else None, constant=True)


def broadcast_pair(c):
    shape = shape_of(c)
    other = [size if c.flip(0.7) else 1 for size in shape][c.draw.randint(0, len(shape) - 1):]
    return (shape, other) if c.flip() else (other, shape)


def qlinear_pair(draw, op, scale):
    c, dtype = Case(draw, op), draw.choice(BYTES)
    a, b = broadcast_pair(c)
    quantized(c, dtype, *a, optional=False)
    quantized(c, dtype, *b, optional=False, constant=c.flip())
    return result_of(c, dtype, scale)


@case
def QLinearAdd(draw):
    return qlinear_pair(draw, "QLinearAdd", 0.06)


@case
def QLinearMul(draw):
    return qlinear_pair(draw, "QLinearMul", 0.08)


def qlinear_unary(draw, op, scale, shape=None, **attributes):
    c, dtype = Case(draw, op), draw.choice(BYTES)
    quantized(c, dtype, *(shape or shape_of(c)))
    return result_of(c, dtype, scale).set(**attributes)


@case
def QLinearSigmoid(draw):
    return qlinear_unary(draw, "QLinearSigmoid", 1 / 256)


@case
def QLinearLeakyRelu(draw):
    return qlinear_unary(draw, "QLinearLeakyRelu", 0.03, alpha=draw.choice([0.01, 0.3]))


@case
def QLinearSoftmax(draw):
    shape = [draw.randint(1, 6) for _ in range(draw.randint(1, 3))]
    return qlinear_unary(draw, "QLinearSoftmax", 0.01, shape, axis=draw.randrange(len(shape)), opset=draw.choice([11, 13]))


def image_of(c, channels_last):
    batch, channels, height, width = c.size(1, 3), c.size(1, 8), c.size(3, 9), c.size(3, 9)
    return [batch, height, width, channels] if channels_last else [batch, channels, height, width]


@case
def QLinearGlobalAveragePool(draw):
    c, dtype, last = Case(draw, "QLinearGlobalAveragePool"), draw.choice(BYTES), draw.randint(0, 1)
    quantized(c, dtype, *image_of(c, last), optional=False)
    return result_of(c, dtype, 0.02).set(channels_last=last)


@case
def QLinearAveragePool(draw):
    c, dtype, last = Case(draw, "QLinearAveragePool"), draw.choice(BYTES), draw.randint(0, 1)
    quantized(c, dtype, *image_of(c, last), optional=False)
    sizes = [c.size(1, 3) for _ in range(2)]
    pads = [c.draw.randint(0, size - 1) for size in sizes * 2]
    return result_of(c, dtype, 0.02).set(channels_last=last, kernel_shape=sizes, strides=[c.size(1, 2) for _ in range(2)], pads=pads, count_include_pad=c.draw.randint(0, 1))


@case
def QLinearConcat(draw):
    c, dtype = Case(draw, "QLinearConcat"), draw.choice(BYTES)
    shape = shape_of(c)
    axis = draw.randrange(len(shape))
    result_of(c, dtype, 0.03)
    for _ in range(draw.randint(1, 3)):
        quantized(c, dtype, *shape[:axis], c.size(1, 5), *shape[axis + 1:], optional=False)
    return c.set(axis=axis)


@case
def QLinearWhere(draw):
    c, dtype = Case(draw, "QLinearWhere"), draw.choice(BYTES)
    a, b = broadcast_pair(c)
    c.put(c.whole(numpy.uint8, *a, low=0, high=1).astype(bool))
    quantized(c, dtype, *a, optional=False)
    quantized(c, dtype, *b, optional=False)
    return result_of(c, dtype, 0.03)


@case
def QLinearConv(draw):
    c, dtype = Case(draw, "QLinearConv"), draw.choice(BYTES)
    x, filters, bias, _ = conv_of(c, channels_last=True)
    left = numpy.uint8
    per_filter = [len(bias)] if c.flip() else []
    c.put(c.whole(left, x.shape[0], *x.shape[2:], x.shape[1]), fixed=(-1,)).put(scale_of(c), constant=True).put(zero_of(c, left), constant=True)
    c.put(c.whole(dtype, *filters.shape), constant=True).put(scale_of(c, *per_filter), constant=True).put(zero_of(c, dtype) if dtype == numpy.uint8 else numpy.zeros(per_filter, dtype), constant=True)
    result_of(c, left, 0.5)
    return c.maybe(c.whole(numpy.int32, len(bias), low=-3000, high=3000), constant=True).set(channels_last=1)


@case
def QuantizeLinear(draw):
    c, dtype = Case(draw, "QuantizeLinear"), draw.choice([numpy.uint8, numpy.int8, numpy.uint16, numpy.int16])
    shape = shape_of(c)
    axis = draw.randrange(len(shape))
    vector = [shape[axis]] if c.flip() else []
    if vector:
        c.set(axis=axis)
    return c.put(c.floats(*shape)).put(scale_of(c, *vector)).put(c.whole(dtype, *vector, low=0, high=100))


@case
def DequantizeLinear(draw):
    c, dtype = Case(draw, "DequantizeLinear"), draw.choice([numpy.uint8, numpy.int8, numpy.uint16, numpy.int16])
    shape = shape_of(c)
    axis = draw.randrange(len(shape))
    vector = [shape[axis]] if c.flip() else []
    if vector:
        c.set(axis=axis)
    return c.put(c.whole(dtype, *shape), constant=c.flip()).put(scale_of(c, *vector), constant=c.flip()).maybe(c.whole(dtype, *vector, low=0, high=100))


@case
def QEmbedLayerNormalization(draw):
    c = Case(draw, "QEmbedLayerNormalization")
    batch, sequence, hidden, words, dtype = c.size(1, 3), c.size(1, 6), c.size(2, 20), c.size(3, 30), byte(c)
    c.put(c.whole(numpy.int32, batch, sequence, low=0, high=words - 1)).put(c.whole(numpy.int32, batch, sequence, low=0, high=1))
    for shape in ([words, hidden], [12, hidden], [2, hidden], [hidden], [hidden]):
        c.put(c.whole(dtype, *shape), constant=True)
    c.maybe(c.whole(numpy.int32, batch, sequence, low=0, high=1))
    for _ in range(5):
        c.put(scale_of(c), constant=True)
    for _ in range(5):
        c.put(zero_of(c, dtype), constant=True)
    c.outputs = 2
    return c.set(epsilon=1e-3)
