#!/usr/bin/env python3
"""Operators of ONNX Runtime's domain com.microsoft: dyn beside ONNX Runtime, each at random shapes, attributes and data.

  contrib_operators.py --dynrun build/release/bin/dynrun [--rounds 3] [--seed 1] [--operators FusedMatMul Attention ...]

Every case is a model of one node, whose inputs are inputs of the graph with open dims, or constants. Floats may differ by 1e-5 of the greatest magnitude of the output (more where
the case says why). Of quantised elements 99.9 % may differ by one step, and no more. Prints "ok NAME" and "failed NAME: why" lines; a case draws from its own seed, NAME's number,
so that --operators draws the same as all do.

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import multiprocessing
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FLOAT_TOLERANCE = 1e-5
FARTHER = 2
WITHIN_ONE_STEP = 0.999
RUNTIME = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
CASES = {}


NEWER = RUNTIME >= (1, 32)  # some cases need what ONNX Runtime 1.20 has not, or has wrong


def case(function):
    """Registers the function, whose name is the operator's, or the operator's, _ and a variant."""
    CASES[function.__name__] = function
    return function


class Case:
    """A node under construction: its inputs in order, attributes, and how its outputs are compared."""

    def __init__(self, draw, op, domain="com.microsoft"):
        self.draw, self.op, self.domain = draw, op, domain
        self.numbers = numpy.random.default_rng(draw.getrandbits(32))
        self.names, self.graph_inputs, self.constants, self.fed = [], [], [], {}
        self.attributes, self.outputs, self.tolerance, self.least, self.masks, self.types, self.opset = {}, 1, FLOAT_TOLERANCE, 0.0, {}, {}, OPSET
        self.exact = None  # the model that ONNX Runtime only approximates here, and what it is fed

    # --- data ---

    def floats(self, *shape, low=-2.0, high=2.5):
        return self.numbers.uniform(low, high, shape).astype(numpy.float32)

    def whole(self, dtype, *shape, low=None, high=None):
        info = numpy.iinfo(dtype)
        return self.numbers.integers(info.min if low is None else low, (info.max if high is None else high) + 1, shape).astype(dtype)

    def size(self, least=1, most=9):
        return self.draw.randint(least, most)

    def flip(self, chance=0.5):
        return self.draw.random() < chance

    # --- the node ---

    def put(self, array, constant=False, fixed=()):
        """The next input; None: left out. Dims of a graph's input are open but for the axes `fixed`."""
        name = f"i{len(self.names)}"
        if array is None:
            self.names.append("")
            return self
        self.names.append(name)
        array = numpy.asarray(array, order="C")
        if constant:
            self.constants.append(numpy_helper.from_array(array, name))
            return self
        fixed = [axis % array.ndim for axis in fixed]
        dims = [size if axis in fixed else f"{name}_{axis}" for axis, size in enumerate(array.shape)]
        self.graph_inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        self.fed[name] = array
        return self

    def maybe(self, array, chance=0.5, **how):
        return self.put(array if self.flip(chance) else None, **how)

    def set(self, **attributes):
        self.attributes.update(attributes)
        return self

    def model(self):
        while self.names and not self.names[-1]:
            self.names.pop()
        node = helper.make_node(self.op, self.names, [f"o{i}" if i in self.wanted() else "" for i in range(max(self.wanted()) + 1)], domain=self.domain, **self.attributes)
        outputs = [helper.make_tensor_value_info(f"o{i}", self.types[i], None) if i in self.types else onnx.ValueInfoProto(name=f"o{i}") for i in self.wanted()]
        graph = helper.make_graph([node], "g", self.graph_inputs, outputs, self.constants)
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=9)

    def wanted(self):
        return list(range(self.outputs)) if isinstance(self.outputs, int) else self.outputs


# --- products with what is fused with them ---


def matmul_shapes(c):
    batch = [c.size(1, 4) for _ in range(c.draw.randint(0, 2))]
    m, k, n = c.size(), c.size(1, 40), c.size(1, 20)
    return batch, m, k, n


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


def conv_of(c, channels_last=False):
    """x, filters, bias, the result's shape (channels first), and sets the windows' attributes."""
    axes = 2 if channels_last else c.draw.randint(1, 2)
    groups = c.draw.choice([1, 1, 2, 3])
    channels, filters = groups * c.size(1, 4), groups * c.size(1, 5)
    sizes, strides, dilations = [c.size(1, 3) for _ in range(axes)], [c.size(1, 2) for _ in range(axes)], [c.draw.choice([1, 1, 2]) for _ in range(axes)]
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(sizes, dilations)]
    pads = [c.draw.randint(0, each - 1) for each in reach * 2]
    extents = [each + c.size(0, 6) for each in reach]
    out = [(extent + pads[i] + pads[axes + i] - reach[i]) // strides[i] + 1 for i, extent in enumerate(extents)]
    batch = c.size(1, 3)
    c.set(kernel_shape=sizes, strides=strides, dilations=dilations, pads=pads, group=groups)
    return c.floats(batch, channels, *extents), c.floats(filters, channels // groups, *sizes), c.floats(filters), [batch, filters] + out


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


# --- activations ---


def shape_of(c, least=1):
    return [c.size(1, 6) for _ in range(c.draw.randint(least, 4))]


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


# --- normalisation ---


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


# --- attention ---


def heads_of(c):
    return c.size(1, 3), c.size(1, 6), c.size(1, 4), c.draw.choice([2, 4, 8])


def key_mask(c, batch, queries, keys, forms, causal=False):
    """A mask that hides no key of the first place where a row may see no other, so that every row sees one."""
    form = c.draw.choice(forms)
    if form == "none":
        return None
    if form == "lengths":
        return c.whole(numpy.int32, batch, low=1, high=keys)
    if form == "ends":
        ends = c.whole(numpy.int32, batch, low=1, high=keys)
        return numpy.concatenate([ends, (ends * c.numbers.uniform(0, 0 if causal else 0.9, batch)).astype(numpy.int32)])
    mask = c.whole(numpy.int32, batch, *([queries] if form == "by_query" else []), keys, low=0, high=1)
    mask[..., 0] = 1
    return mask


def score_bias(c, batch, heads, queries, keys):
    """Of one sample's or head's for all; but for one head's of several samples, which ONNX Runtime 1.20 reads beyond its end."""
    return c.floats(*c.draw.choice([[1, 1], [1, heads], [batch, heads]] + ([[batch, 1]] if NEWER else [])), queries, keys)


@case
def MultiHeadAttention(draw):
    c = Case(draw, "MultiHeadAttention")
    batch, queries, heads, size = heads_of(c)
    value_size, causal = draw.choice([size, size, 3]), c.draw.randint(0, 1)
    keys = queries if causal or c.flip() else c.size(1, 7)
    form = draw.choice(["separate", "separate", "past", "cache"])
    past = c.size(1, 5) if form == "past" else 0
    if form != "separate":
        value_size = size
    c.put(c.floats(batch, queries, heads * size), fixed=(-1,))
    if form == "cache":
        c.put(c.floats(batch, heads, keys, size), fixed=(1, 3)).put(c.floats(batch, heads, keys, value_size), fixed=(1, 3))
    else:
        c.put(c.floats(batch, keys, heads * size), fixed=(-1,)).put(c.floats(batch, keys, heads * value_size), fixed=(-1,))
    c.maybe(c.floats(heads * (2 * size + value_size)), constant=c.flip(), fixed=(0,))
    # ONNX Runtime 1.20 takes masks for others where a call's keys are not as many as its queries.
    is_masked = NEWER or queries == keys
    mask = key_mask(c, batch, queries, past + keys, ["none", "none", "by_key", "by_query"] + (["lengths"] if not past else [])) if is_masked else None
    c.put(mask).maybe(score_bias(c, batch, heads, queries, past + keys), fixed=(0, 1, 2, 3))
    if form == "past":
        c.put(c.floats(batch, heads, past, size), fixed=(1, 3)).put(c.floats(batch, heads, past, size), fixed=(1, 3))
        c.outputs = 3
    elif c.flip(0.3) and NEWER:
        c.outputs, c.types[3] = [0, 3], TensorProto.FLOAT
    if mask is None and c.flip(0.3):
        c.set(scale=0.3)
    if c.flip(0.3):
        c.set(mask_filter_value=-1000.0)
    return c.set(num_heads=heads, unidirectional=causal)


@case
def Attention(draw):
    c = Case(draw, "Attention")
    batch, queries, heads, size = heads_of(c)
    width, causal, past = c.size(1, 20), c.draw.randint(0, 1), c.draw.choice([0, 0, 3])
    sizes = [heads * size, heads * size, heads * (size if past else draw.choice([size, 3]))]
    c.put(c.floats(batch, queries, width), fixed=(-1,)).put(c.floats(width, sum(sizes), low=-0.5, high=0.5), constant=c.flip(), fixed=(0, 1))
    c.maybe(c.floats(sum(sizes)), chance=0.7 if NEWER else 1, fixed=(0,))
    form = draw.choice(["none", "by_key", "by_query", "lengths", "ends"])
    mask = key_mask(c, batch, queries, past + queries, [form], causal)
    c.put(mask, fixed=(0,) if form == "ends" else ())
    if form == "ends":  # whether it holds starts follows from its shape
        c.graph_inputs[0].type.tensor_type.shape.dim[0].dim_value = batch
    c.put(c.floats(2, batch, heads, past, size), fixed=(0, 2, 4)) if past else c.put(None)
    bias = score_bias(c, batch, heads, queries, queries)
    c.put(bias if not past and c.flip() else None, fixed=(0, 1, 2, 3))
    c.outputs = 2 if past else 1
    if sizes[0] != sizes[2]:
        c.set(qkv_hidden_sizes=sizes)
    return c.set(num_heads=heads, unidirectional=causal)


def turns(c, places, pairs):
    angles = c.floats(places, pairs, low=-3, high=3)
    return numpy.cos(angles), numpy.sin(angles)


@case
def RotaryEmbedding(draw):
    c = Case(draw, "RotaryEmbedding")
    batch, tokens, heads, size = heads_of(c)
    part = draw.choice([size, size, max(2, size // 2)])
    flat = part < size or c.flip()
    c.put(c.floats(*([batch, tokens, heads * size] if flat else [batch, heads, tokens, size])), fixed=(-1,))
    c.put(c.whole(numpy.int64, *draw.choice([[1], [batch, tokens]]), low=0, high=14))
    for table in turns(c, 20 + tokens, part // 2):
        c.put(table, fixed=(0, 1))
    if part < size:
        c.set(num_heads=heads, rotary_embedding_dim=part)
    return c.set(interleaved=c.draw.randint(0, 1))


def cached(draw, prompt):
    """GroupQueryAttention with a first prompt, padded, or with tokens behind a cache."""
    c = Case(draw, "GroupQueryAttention")
    batch, key_heads, size = c.size(1, 3), c.size(1, 2), draw.choice([16, 32])
    heads = key_heads * c.size(1, 3)
    room, total = draw.choice([0, 3]), c.size(2, 9)
    tokens = total if prompt else (1 if batch > 1 or c.flip() else c.size(1, total - 1))
    lengths = c.whole(numpy.int32, batch, low=1 if prompt else tokens, high=total)
    lengths[c.draw.randrange(batch)] = total
    packed, rotary = c.flip(), c.draw.randint(0, 1)
    if packed:
        c.put(c.floats(batch, tokens, (heads + 2 * key_heads) * size), fixed=(-1,)).put(None).put(None)
    else:
        c.put(c.floats(batch, tokens, heads * size), fixed=(-1,)).put(c.floats(batch, tokens, key_heads * size), fixed=(-1,)).put(c.floats(batch, tokens, key_heads * size), fixed=(-1,))
    capacity = total + room if prompt and c.flip() else 0
    capacity = capacity if prompt else max(total - tokens, 1) if c.flip() else total + room
    if not prompt and capacity < total:  # the samples' pasts are no longer than the cache
        lengths = numpy.minimum(lengths, capacity + tokens).astype(numpy.int32)
    for _ in range(2):
        c.put(c.floats(batch, key_heads, capacity, size), fixed=(1, 3)) if capacity else c.put(None)
    c.put((lengths - 1).astype(numpy.int32)).put(numpy.array(total, numpy.int32), constant=c.flip())
    for table in turns(c, 20, size // 2):
        c.put(table if rotary else None, fixed=(0, 1))
    c.put(c.whole(numpy.int64, batch, tokens, low=0, high=10) if NEWER and rotary and c.flip(0.3) else None)
    c.put(score_bias(c, batch, heads, tokens, total) if NEWER and c.flip(0.3) else None, fixed=(0, 1, 2, 3))
    c.outputs = 3
    rows = numpy.arange(tokens)[None, :, None] < lengths[:, None, None] if prompt else numpy.ones((1, 1, 1), bool)
    kept = numpy.arange(max(total, capacity))[None, None, :, None] < lengths[:, None, None, None]
    c.masks = {0: rows, 1: kept, 2: kept}
    if NEWER and c.flip(0.3):  # 1.20 sees a key more
        c.set(local_window_size=draw.choice([1, 2, 5]))
    if c.flip(0.3):
        c.set(softcap=2.0)
    if c.flip(0.3):
        c.set(smooth_softmax=1)
    if c.flip(0.3):
        c.set(scale=0.2)
    return c.set(num_heads=heads, kv_num_heads=key_heads, do_rotary=rotary, rotary_interleaved=c.draw.randint(0, 1) if rotary else 0)


@case
def GroupQueryAttention_prompt(draw):
    return cached(draw, True)


@case
def GroupQueryAttention_decode(draw):
    return cached(draw, False)


# --- quantised ---


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
    c.put(draw.choice([None, packed]), constant=True).put(None).maybe(c.floats(n), fixed=(0,))
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
    for _ in range(2):
        c.put(scale_of(c, ways, *columns) / 5, constant=True).put(numpy.zeros([ways] + columns, dtype) if columns else zero_of(c, dtype, ways), constant=True)
    c.outputs, c.tolerance = 3, 0.03  # ONNX Runtime quantises inputs and state at each step, dyn neither
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


# --- places and shapes ---


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


def ExpandDims(draw):
    c = Case(draw, "ExpandDims")
    shape = shape_of(c)
    return c.put(c.floats(*shape)).put(numpy.int32(draw.randint(-1, len(shape))), constant=True)


if NEWER:
    case(ExpandDims)  # ONNX Runtime 1.20 crashes at any axis


@case
def Unique(draw):
    c = Case(draw, "Unique")
    c.outputs = 3
    return c.put(c.whole(numpy.int64, c.size(1, 12), low=-3, high=3).astype(numpy.float32))


@case
def Range(draw):
    c = Case(draw, "Range")
    dtype, constant = draw.choice([numpy.float32, numpy.int32, numpy.int64]), c.flip()
    delta = draw.choice([None, 2, -3])
    ends = (2, 11) if delta != -3 else (9, -4)
    for each in ends:
        c.put(numpy.array(each, dtype), constant=constant)
    return c.put(None if delta is None else numpy.array(delta, dtype), constant=constant)


@case
def NGramRepeatBlock(draw):
    c = Case(draw, "NGramRepeatBlock")
    batch, length, vocabulary = c.size(1, 4), c.size(1, 12), c.size(3, 5)
    c.put(c.whole(numpy.int64, batch, length, low=0, high=vocabulary - 1)).put(c.floats(batch, vocabulary))
    return c.set(ngram_size=draw.randint(1, 4))


@case
def Trilu(draw):
    c = Case(draw, "Trilu")
    c.put(c.floats(*shape_of(c, 2)))
    return c.put(numpy.int64(draw.randint(-2, 2)) if c.flip() else None, constant=True).set(upper=draw.randint(0, 1))


@case
def GatherND(draw):
    c = Case(draw, "GatherND")
    shape = shape_of(c, 2)
    depth = draw.randint(1, len(shape))
    indices = numpy.stack([c.whole(numpy.int64, 3, 2, low=0, high=size - 1) for size in shape[:depth]], -1)
    return c.put(c.floats(*shape)).put(indices, fixed=(-1,))


@case
def Pad(draw):
    c = Case(draw, "Pad")
    mode = draw.choice(["constant", "edge", "reflect"])
    shape = [c.size(3, 6) for _ in range(c.draw.randint(1, 3))]
    pads = c.whole(numpy.int64, 2 * len(shape), low=-1 if mode == "constant" else 0, high=2)
    if c.flip():
        pads = pads[None]
    return c.put(c.floats(*shape)).put(pads, constant=True).put(numpy.float32(1.5) if mode == "constant" and c.flip() else None, constant=True).set(mode=mode)


@case
def GridSample(draw):
    c = Case(draw, "GridSample")
    batch = c.size(1, 2)
    c.put(c.floats(batch, c.size(1, 3), c.size(2, 6), c.size(2, 6)), fixed=(2, 3)).put(c.floats(batch, c.size(1, 4), c.size(1, 4), 2, low=-1.2, high=1.2), fixed=(-1,))
    c.tolerance = 1e-4  # places near the middle between two pixels
    return c.set(mode=draw.choice(["bilinear", "bicubic"]), padding_mode=draw.choice(["zeros", "border", "reflection"]), align_corners=draw.randint(0, 1))


# --- running and comparing ---


class Difference(Exception):
    pass


def compared(name, actual, expected, c):
    if actual.shape != expected.shape:
        raise Difference(f"{name} has the shape {list(actual.shape)} instead of {list(expected.shape)}")
    if actual.dtype != expected.dtype:
        raise Difference(f"{name} is {actual.dtype} instead of {expected.dtype}")
    valid = c.masks.get(int(name[1:]))
    if valid is not None:
        valid = numpy.broadcast_to(valid, expected.shape)
        actual, expected = actual[valid], expected[valid]
    if expected.size == 0:
        return
    if expected.dtype.kind in "iu":
        steps = numpy.abs(actual.astype(numpy.int64) - expected.astype(numpy.int64))
        if expected.dtype.itemsize > 1 and steps.any() or (steps <= 1).mean() < WITHIN_ONE_STEP:
            raise Difference(f"{name} differs by {steps.max()} steps, by more than one at {(steps > 1).mean():.2%} of its elements")
        return
    if expected.dtype.kind == "b":
        if (actual != expected).any():
            raise Difference(f"{name} differs")
        return
    hidden = -1e29  # scores of what a mask hides have no agreed value
    actual, expected = (numpy.where(each < hidden, -numpy.inf, each.astype(numpy.float64)) for each in (actual, expected))
    infinite = ~numpy.isfinite(expected)
    if infinite.any() and not (actual[infinite] == expected[infinite]).all():
        raise Difference(f"{name} has other infinities")
    greatest = numpy.abs(expected[~infinite]).max(initial=c.least)
    difference = numpy.abs(actual[~infinite] - expected[~infinite]).max(initial=0)
    if not difference <= c.tolerance * greatest:
        raise Difference(f"{name} differs by {difference / max(greatest, 1e-300):.2g} of its greatest magnitude, {greatest:.3g}")


def nearer_to_exact(name, actual, expected, exact):
    """Where dyn computes more exactly than ONNX Runtime, it may not be further than twice as far from the exact result."""
    ours, theirs = (numpy.abs(each.astype(numpy.float64) - exact).max(initial=0) for each in (actual, expected))
    if not ours <= FARTHER * theirs:
        raise Difference(f"{name} is {ours:.2g} from the exact result, ONNX Runtime {theirs:.2g}")


def runtime_results(model, fed, results):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results.send(dict(zip([each.name for each in session.get_outputs()], session.run(None, fed))))
    except Exception as error:  # the names of its exceptions differ by version
        results.send("ONNX Runtime refuses it: " + " ".join(str(error).split()))


def reference(model, fed):
    """In a process of its own: some versions crash where they should refuse."""
    context = multiprocessing.get_context("fork")
    results, end = context.Pipe(duplex=False)
    child = context.Process(target=runtime_results, args=(model, fed, end))
    child.start()
    end.close()
    try:
        found = results.recv()
    except EOFError:
        found = "ONNX Runtime crashes"
    child.join()
    if isinstance(found, str):
        raise Difference(found)
    return found


def with_output_types(model, results):
    for output in model.graph.output:
        array = results[output.name]
        output.CopyFrom(helper.make_tensor_value_info(output.name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim))
    return model


def dyn(dynrun, model, fed, folder):
    path = folder / "model.onnx"
    onnx.save(model, path)
    command = [str(dynrun), "run", str(path), "--format", "json", "--weight-cache", "0", "--threads", "1", "--save-outputs", str(folder)]
    for name, array in fed.items():
        numpy.save(folder / f"in_{name}.npy", array)
        command += ["--load-inputs", f"{name}={folder / f'in_{name}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Difference("dynrun fails: " + " ".join((done.stderr or f"exit code {done.returncode}").split()))
    return {output.name: numpy.load(folder / (re.sub(r"[^\w.-]", "_", output.name) + ".npy")) for output in model.graph.output}


def run(name, number, arguments):
    c = CASES[name](random.Random(f"{arguments.seed} {name} {number}"))
    model = c.model()
    with tempfile.TemporaryDirectory(prefix="dyn-contrib-") as folder:
        if arguments.keep:
            folder = arguments.keep
        try:
            expected = reference(model, c.fed)
            actual = dyn(arguments.dynrun, with_output_types(model, expected), c.fed, pathlib.Path(folder))
            exact = reference(*c.exact) if c.exact else None
            for output, array in expected.items():
                try:
                    compared(output, actual[output], array, c)
                except Difference:
                    if exact is None:
                        raise
                    nearer_to_exact(output, actual[output], array, exact[output])
        except Difference as difference:
            shapes = ", ".join(f"{each} {list(c.fed[each].shape) if each in c.fed else 'constant'}" for each in c.names if each)
            raise Difference(f"{difference}; {c.attributes}, {shapes}") from difference


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=1, help="cases of each operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operators", nargs="*", help="all without it")
    parser.add_argument("--keep", help="a folder that keeps the last case's model and data")
    arguments = parser.parse_args()
    failures = 0
    for name in arguments.operators or CASES:
        for number in range(arguments.rounds):
            try:
                run(name, number, arguments)
                print(f"ok {name}/{number}", flush=True)
            except Difference as difference:
                failures += 1
                print(f"failed {name}/{number}: {difference}", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
