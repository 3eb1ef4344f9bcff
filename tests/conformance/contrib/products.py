"""Products, convolutions, activations and norms with what is fused with them."""
import numpy

from contrib.one_node import Case, case, conv_of, matmul_shapes, shape_of


@case
def FusedMatMul(draw):
    c = Case(draw, "FusedMatMul")
    batch, m, k, n = matmul_shapes(c)
    batched = [1 if len(batch) > 1 and c.flip() else 0, 1 if len(batch) > 1 and c.flip() else 0]
    turned = [c.draw.randint(0, 1), c.draw.randint(0, 1)]
    sides = []
    for rows, columns, transposed, first in ((m, k, turned[0], batched[0]), (k, n, turned[1], batched[1])):
        inner = [columns, rows] if transposed else [rows, columns]
        sides.append(c.floats(*([inner[0]] + batch + [inner[1]] if first else batch + inner)))
    c.put(sides[0]).put(sides[1], constant=c.flip())
    return c.set(transA=turned[0], transB=turned[1], transBatchA=batched[0], transBatchB=batched[1], alpha=draw.choice([1.0, 0.125, -3.0]))


@case
def TransposeMatMul(draw):
    c = Case(draw, "TransposeMatMul")
    batch, m, k, n = matmul_shapes(c)
    turned = c.draw.randint(0, 1)
    c.put(c.floats(*batch, m, k)).put(c.floats(*batch, *([n, k] if turned else [k, n])))
    return c.set(transB=turned, alpha=0.5)


@case
def FusedGemm(draw):
    c = Case(draw, "FusedGemm")
    m, k, n = c.size(), c.size(1, 30), c.size(1, 20)
    turned = [c.draw.randint(0, 1), c.draw.randint(0, 1)]
    c.put(c.floats(*([k, m] if turned[0] else [m, k]))).put(c.floats(*([n, k] if turned[1] else [k, n])), constant=c.flip())
    c.maybe(c.floats(*draw.choice([[n], [1, n], [m, 1]])))
    activation, parameters = draw.choice([
        ("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Elu", {"activation_alpha": 0.7}), ("Softsign", {}), ("Softplus", {}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.6}), ("ThresholdedRelu", {"activation_alpha": 0.5}), ("Selu", {"activation_alpha": 1.5, "activation_gamma": 1.1}),
        ("Celu", {"activation_alpha": 1.3})])
    return c.set(transA=turned[0], transB=turned[1], alpha=draw.choice([1.0, 0.25]), beta=draw.choice([1.0, -0.5]), activation=activation, **parameters)


@case
def FusedConv(draw):
    c = Case(draw, "FusedConv")
    x, filters, bias, shape = conv_of(c)
    c.put(x, fixed=(1,)).put(filters, constant=c.flip(), fixed=range(filters.ndim)).put(bias)
    activation, parameters = draw.choice([("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.2]), ("Clip", [-1.0, 2.0]), ("HardSigmoid", [0.3, 0.6])])
    if activation == "Relu":
        c.maybe(c.floats(*shape))
    if parameters:
        c.set(activation_params=parameters)
    return c.set(activation=activation)


@case
def NhwcMaxPool(draw):
    c = Case(draw, "NhwcMaxPool")
    sizes, strides = [c.size(1, 3) for _ in range(2)], [c.size(1, 2) for _ in range(2)]
    x = c.whole(draw.choice([numpy.uint8, numpy.int8]), c.size(1, 3), sizes[0] + c.size(0, 5), sizes[1] + c.size(0, 5), c.size(1, 20))
    return c.put(x).set(kernel_shape=sizes, strides=strides, pads=[c.draw.randint(0, size - 1) for size in sizes * 2])


@case
def Gelu(draw):
    c = Case(draw, "Gelu")
    c.least = 1.0  # of x far below 0 a small difference of greater numbers is left
    return c.put(c.floats(*shape_of(c), low=-6, high=6))


@case
def BiasGelu(draw):
    c = Case(draw, "BiasGelu")
    c.least = 1.0
    shape = shape_of(c)
    return c.put(c.floats(*shape)).put(c.floats(shape[-1]))


@case
def FastGelu(draw):
    c = Case(draw, "FastGelu")
    c.least = 1.0
    shape = shape_of(c)
    return c.put(c.floats(*shape)).maybe(c.floats(shape[-1]))


@case
def QuickGelu(draw):
    c = Case(draw, "QuickGelu")
    c.least = 1.0
    return c.put(c.floats(*shape_of(c), low=-6, high=6)).set(alpha=draw.choice([1.0, 1.702, -0.7]))


@case
def SimplifiedLayerNormalization(draw):
    c = Case(draw, "SimplifiedLayerNormalization", "")
    shape = shape_of(c, 2)
    axis = draw.choice([-1, len(shape) - 1, 1])
    c.outputs = draw.choice([1, 2])
    return c.put(c.floats(*shape)).put(c.floats(*shape[axis:])).set(axis=axis, epsilon=draw.choice([1e-5, 0.1]))


def skipped(c, gamma_only):
    batch, sequence, hidden = c.size(1, 3), c.size(1, 6), c.size(2, 40)
    usual_epsilon = c.flip(0.3)
    unit = numpy.float32(1e-6 if usual_epsilon else 1)  # so small that an epsilon of 1e-12 counts
    c.put(c.floats(batch, sequence, hidden) * unit)
    c.put(c.floats(*c.draw.choice([[batch, sequence, hidden], [1, sequence, hidden], [sequence, hidden]])) * unit).put(c.floats(hidden))
    if not gamma_only:
        c.maybe(c.floats(hidden))
    c.outputs = c.draw.choice([[0], [0, 3]])
    c.maybe(c.floats(hidden) * unit)
    return c if usual_epsilon else c.set(epsilon=c.draw.choice([1e-12, 0.1]))


@case
def SkipLayerNormalization(draw):
    return skipped(Case(draw, "SkipLayerNormalization"), False)


@case
def SkipSimplifiedLayerNormalization(draw):
    return skipped(Case(draw, "SkipSimplifiedLayerNormalization"), True)


@case
def EmbedLayerNormalization(draw):
    c = Case(draw, "EmbedLayerNormalization")
    batch, sequence, hidden, words = c.size(1, 3), c.size(1, 6), c.size(2, 20), c.size(3, 30)
    segments = c.flip()
    c.put(c.whole(numpy.int32, batch, sequence, low=0, high=words - 1)).put(c.whole(numpy.int32, batch, sequence, low=0, high=1) if segments else None)
    c.put(c.floats(words, hidden), constant=c.flip(), fixed=(0, 1)).put(c.floats(12, hidden), fixed=(0, 1)).put(c.floats(2, hidden) if segments else None, fixed=(0, 1))
    c.put(c.floats(hidden), fixed=(0,)).put(c.floats(hidden), fixed=(0,)).maybe(c.whole(numpy.int32, batch, sequence, low=0, high=1))
    c.maybe(c.whole(numpy.int32, *draw.choice([[batch, sequence], [1, sequence]]), low=0, high=11))
    c.outputs = draw.choice([2, 3])
    return c.set(epsilon=1e-3)
