#!/usr/bin/env python3
"""Random graphs of ONNX operators with what ONNX Runtime makes of them, as cases for dyn-conformance.

  random_graphs.py FOLDER [--graphs 60] [--seed 1]

Each graph has 4 to 16 nodes on three inputs whose dims are free, and five data sets, each of other sizes. Some files say nothing of their inputs' shapes, or call all
free dims the same. Inputs are multiples of 1/64: operators that jump (rounding, comparing, choosing the greatest) stand at inputs alone, where a rounding cannot change
what they give. Writes FOLDER/node/NUMBER/{model.onnx, data.json, test_data_set_N} and FOLDER/names.txt, and prints how often each operator was drawn. What ONNX Runtime
refuses is drawn again.

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import collections
import pathlib
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_cases import Refused, write_case, write_cases

SETS = 5
OPSET = 20
TOLERANCES = {"rtol": 1e-3, "atol": 2e-4}
MOST_ELEMENTS = 20_000


class Dim:
    """A size in each of the data sets, and whether the graph knows it."""

    def __init__(self, sizes, known):
        self.sizes, self.known = tuple(sizes), known

    def __eq__(self, other):
        return self.sizes == other.sizes

    def map(self, change):
        return Dim([change(size) for size in self.sizes], self.known)


def known(size):
    return Dim([size] * SETS, True)


class Value:
    def __init__(self, name, dims, exact=False, low=-4.0, high=4.0):
        self.name, self.dims, self.exact = name, list(dims), exact
        self.low, self.high = low, high  # a guess of the range, so that no chain of operators runs away

    @property
    def rank(self):
        return len(self.dims)


class Graph:
    def __init__(self, draw):
        self.draw = draw
        self.nodes, self.initializers, self.inputs, self.values, self.read = [], [], [], [], set()
        self.drawn = collections.Counter()
        sizes = [Dim(self.distinct_sizes(), False) for _ in range(3)]
        a, b, c = sizes
        for name, dims in (("x", [a, b, known(6)]), ("y", [a, known(4), b, c]), ("z", [b, known(6)])):
            self.inputs.append(Value(name, dims, exact=True))
        self.values += self.inputs

    def distinct_sizes(self):
        return [1] + self.draw.sample(range(2, 9), SETS - 1)

    def name(self):
        return f"v{len(self.nodes)}_{len(self.initializers)}"

    def constant(self, array):
        name = "c" + self.name()
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def floats(self, shape, low=-1.0, high=1.5):
        return self.constant(numpy.array([self.draw.uniform(low, high) for _ in range(int(numpy.prod(shape)))], numpy.float32).reshape(shape))

    def node(self, op, inputs, dims, low=-4.0, high=4.0, outputs=1, exact=False, **attributes):
        names = [self.name() + ("" if i == 0 else f"_{i}") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [each.name if isinstance(each, Value) else each for each in inputs], names, **attributes))
        self.drawn[op] += 1
        self.read.update(each.name for each in inputs if isinstance(each, Value))
        return Value(names[0], dims, exact, low, high)

    def bounded(self, value):
        """Values of a moderate size, so that differences stay small."""
        if -20 <= value.low and value.high <= 20:
            return value
        scaled = self.node("Mul", [value, self.constant(numpy.float32(4 / max(abs(value.low), abs(value.high))))], value.dims, -4, 4)
        return scaled

    def pick(self, accepts=lambda value: True):
        fitting = [value for value in self.values if accepts(value)]
        if not fitting:
            raise Refused()
        # The newest are the likeliest, so that graphs are deep.
        return fitting[-1 - min(int(self.draw.expovariate(0.7)), len(fitting) - 1)]

    def axis(self, value, accepts=lambda dim: True):
        axes = [i for i, dim in enumerate(value.dims) if accepts(dim)]
        if not axes:
            raise Refused()
        return self.draw.choice(axes)

    # --- one function for each kind of operator; each returns the new value ---

    def unary(self):
        x = self.pick()
        op, low, high, attributes = self.draw.choice([
            ("Tanh", -1, 1, {}), ("Sigmoid", 0, 1, {}), ("Erf", -1, 1, {}), ("Relu", 0, x.high, {}), ("Abs", 0, 20, {}), ("Neg", -x.high, -x.low, {}),
            ("LeakyRelu", x.low, x.high, {"alpha": 0.2}), ("Elu", -1, x.high, {"alpha": 0.7}), ("Selu", -2, 20, {}), ("Softplus", 0, 20, {}),
            ("Softsign", -1, 1, {}), ("HardSigmoid", 0, 1, {"alpha": 0.3}), ("HardSwish", -4, 20, {}), ("Gelu", -1, 20, {}), ("Mish", -1, 20, {}),
            ("Sin", -1, 1, {}), ("Cos", -1, 1, {}), ("Atan", -2, 2, {}), ("Celu", -1, 20, {"alpha": 1.3}), ("ThresholdedRelu", 0, 20, {"alpha": -30.0}), ("Identity", x.low, x.high, {})])
        return self.node(op, [x], x.dims, low, high, exact=x.exact and op in ("Abs", "Neg", "Relu", "Identity"), **attributes)

    def positive(self):
        x = self.pick()
        above = self.node("Add", [self.node("Abs", [x], x.dims, 0, 20), self.constant(numpy.float32(0.5))], x.dims, 0.5, 20)
        op = self.draw.choice(["Sqrt", "Log", "Reciprocal", "Pow"])
        if op == "Pow":
            return self.bounded(self.node(op, [above, self.constant(numpy.float32(self.draw.choice([0.5, 2, 1.5, -1])))], x.dims, 0, 400))
        return self.node(op, [above], x.dims, -1, 5)

    def jump(self):
        x = self.pick(lambda value: value.exact)
        op = self.draw.choice(["Floor", "Ceil", "Round", "Sign"])
        return self.node(op, [x], x.dims, x.low - 1, x.high + 1, exact=True)

    def binary(self):
        a = self.pick()
        b = self.draw.choice([self.pick(lambda value: value.dims == a.dims), self.broadcast_part(a)])
        if self.draw.random() < 0.3:
            a, b = b, a
        dims = a.dims if a.rank >= b.rank else b.dims
        dims = [x if x.sizes != known(1).sizes else y for x, y in zip(dims, self.padded(b if dims is a.dims else a, len(dims)))]
        op = self.draw.choice(["Add", "Sub", "Mul", "Max", "Min", "Div"])
        if op == "Div":
            b = self.node("Add", [self.node("Abs", [b], b.dims, 0, 20), self.constant(numpy.float32(1))], b.dims, 1, 20)
        bound = max(abs(a.low), abs(a.high)) * max(abs(b.low), abs(b.high), 2)
        return self.bounded(self.node(op, [a, b], dims, -bound, bound))

    @staticmethod
    def padded(value, rank):
        return [known(1)] * (rank - value.rank) + value.dims

    def broadcast_part(self, a):
        """A value that broadcasts with a: a reduction of it, or a constant."""
        if self.draw.random() < 0.5 and a.rank > 0:
            axis = self.axis(a)
            dims = [known(1) if i == axis else dim for i, dim in enumerate(a.dims)]
            return self.node("ReduceMean", [a, self.constant(numpy.array([axis], numpy.int64))], dims, a.low, a.high)
        if a.rank > 0 and a.dims[-1].known:
            return Value(self.floats([a.dims[-1].sizes[0]]), [a.dims[-1]], low=-1, high=1.5)
        return Value(self.floats([]), [], low=-1, high=1.5)

    def choose(self):
        a = self.pick(lambda value: value.exact)
        op = self.draw.choice(["Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
        condition = self.node(op, [a, self.constant(numpy.float32(self.draw.randint(-2, 2) + 0.01))], a.dims)
        if self.draw.random() < 0.3:
            condition = self.node("Not", [condition], a.dims)
        b = self.pick(lambda value: value.dims == a.dims)
        return self.node("Where", [condition, b, self.floats([])], a.dims, min(b.low, -1), max(b.high, 1.5))

    def reduction(self):
        x = self.pick(lambda value: value.rank > 0)
        axes = sorted(self.draw.sample(range(x.rank), self.draw.randint(1, x.rank)))
        keeps = self.draw.random() < 0.5
        op = self.draw.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"])
        dims = [known(1) if i in axes else dim for i, dim in enumerate(x.dims) if keeps or i not in axes]
        largest = max(abs(x.low), abs(x.high), 1) ** 2 * 60
        given = [axis - x.rank if self.draw.random() < 0.3 else axis for axis in axes]
        return self.bounded(self.node(op, [x, self.constant(numpy.array(given, numpy.int64))], dims, -largest, largest, keepdims=int(keeps)))

    def greatest(self):
        x = self.pick(lambda value: value.exact and value.rank > 0)
        axis = self.axis(x)
        keeps = self.draw.random() < 0.5
        dims = [known(1) if i == axis else dim for i, dim in enumerate(x.dims) if keeps or i != axis]
        found = self.node(self.draw.choice(["ArgMax", "ArgMin"]), [x], dims, axis=axis, keepdims=int(keeps))
        return self.node("Cast", [found], dims, 0, 9, exact=True, to=TensorProto.FLOAT)

    def softmax(self):
        x = self.pick(lambda value: value.rank > 0)
        op = self.draw.choice(["Softmax", "LogSoftmax"])
        return self.node(op, [x], x.dims, -20 if op == "LogSoftmax" else 0, 1, axis=self.axis(x))

    def cumsum(self):
        x = self.pick(lambda value: value.rank > 0)
        return self.bounded(self.node("CumSum", [x, self.constant(numpy.int64(self.axis(x)))], x.dims, 8 * x.low, 8 * x.high,
                                      exclusive=self.draw.randint(0, 1), reverse=self.draw.randint(0, 1)))

    def normalization(self):
        x = self.pick(lambda value: value.rank > 1 and value.dims[-1].known)
        size = x.dims[-1].sizes[0]
        return self.node("LayerNormalization", [x, self.floats([size]), self.floats([size])], x.dims, -6, 6, axis=-1, epsilon=0.1)

    def transpose(self):
        x = self.pick(lambda value: value.rank > 1)
        perm = self.draw.sample(range(x.rank), x.rank)
        return self.node("Transpose", [x], [x.dims[i] for i in perm], x.low, x.high, exact=x.exact, perm=perm)

    def reshape(self):
        x = self.pick(lambda value: value.rank > 1)
        axis = self.draw.randrange(x.rank - 1)
        merged = Dim([p * q for p, q in zip(x.dims[axis].sizes, x.dims[axis + 1].sizes)], x.dims[axis].known and x.dims[axis + 1].known)
        dims = x.dims[:axis] + [merged] + x.dims[axis + 2:]
        free = [i for i, dim in enumerate(dims) if not dim.known]
        if axis > 0 and self.draw.random() < 0.3:
            return self.node("Flatten", [x], [self.product(x.dims[:axis]), self.product(x.dims[axis:])], x.low, x.high, exact=x.exact, axis=axis)
        if len(free) <= 1:
            shape = self.constant(numpy.array([dim.sizes[0] if dim.known else -1 for dim in dims], numpy.int64))
        else:
            whole = self.node("Shape", [x], [known(x.rank)])
            parts = [self.node("Slice", [whole, self.constant(numpy.array([0], numpy.int64)), self.constant(numpy.array([axis], numpy.int64))], [known(axis)])] if axis else []
            parts.append(self.constant(numpy.array([-1], numpy.int64)))
            if axis + 2 < x.rank:
                parts.append(self.node("Slice", [whole, self.constant(numpy.array([axis + 2], numpy.int64)), self.constant(numpy.array([x.rank], numpy.int64))], [known(x.rank - axis - 2)]))
            shape = self.node("Concat", parts, [known(len(dims))], axis=0)
        return self.node("Reshape", [x, shape], dims, x.low, x.high, exact=x.exact)

    @staticmethod
    def product(dims):
        return Dim(numpy.prod([dim.sizes for dim in dims], axis=0).tolist(), all(dim.known for dim in dims))

    def unsqueeze(self):
        x = self.pick(lambda value: value.rank < 4)
        axis = self.draw.randint(0, x.rank)
        return self.node("Unsqueeze", [x, self.constant(numpy.array([axis], numpy.int64))], x.dims[:axis] + [known(1)] + x.dims[axis:], x.low, x.high, exact=x.exact)

    def squeeze(self):
        x = self.pick(lambda value: any(dim.known and dim.sizes[0] == 1 for dim in value.dims))
        axis = self.axis(x, lambda dim: dim.known and dim.sizes[0] == 1)
        return self.node("Squeeze", [x, self.constant(numpy.array([axis], numpy.int64))], x.dims[:axis] + x.dims[axis + 1:], x.low, x.high, exact=x.exact)

    def concat(self):
        x = self.pick(lambda value: value.rank > 0)
        axis = self.axis(x)
        others = [value for value in self.values if value.rank == x.rank and all(i == axis or p == q for i, (p, q) in enumerate(zip(value.dims, x.dims)))]
        parts = [x] + [self.draw.choice(others) for _ in range(self.draw.randint(1, 3))]
        joined = Dim(numpy.sum([part.dims[axis].sizes for part in parts], axis=0).tolist(), all(part.dims[axis].known for part in parts))
        return self.node("Concat", parts, x.dims[:axis] + [joined] + x.dims[axis + 1:], min(p.low for p in parts), max(p.high for p in parts),
                         exact=all(p.exact for p in parts), axis=axis - (x.rank if self.draw.random() < 0.3 else 0))

    def slice(self):
        x = self.pick(lambda value: value.rank > 0)
        axis = self.axis(x)
        step = self.draw.choice([1, 1, 1, 2, 3, -1, -2])
        start = self.draw.choice([0, 1, -1, -2, 100, -100] if step > 0 else [-1, 100, 2, -2])
        end = self.draw.choice([2**62, 3, -1, 100] if step > 0 else [-2**62, 0, -100])
        taken = x.dims[axis].map(lambda size: len(range(*slice(start, end, step).indices(size))))
        if min(taken.sizes) == 0:
            raise Refused()
        inputs = [x] + [self.constant(numpy.array([number], numpy.int64)) for number in (start, end, axis, step)]
        return self.node("Slice", inputs, x.dims[:axis] + [taken] + x.dims[axis + 1:], x.low, x.high, exact=x.exact)

    def pad(self):
        x = self.pick(lambda value: value.rank > 0)
        mode = self.draw.choice(["constant", "edge", "reflect"])
        before = [self.draw.randint(0, 2) for _ in x.dims]
        after = [self.draw.randint(0, 2) for _ in x.dims]
        if mode == "reflect":
            for i, dim in enumerate(x.dims):
                if min(dim.sizes) < 3:
                    before[i] = after[i] = 0
        dims = [dim.map(lambda size, more=before[i] + after[i]: size + more) for i, dim in enumerate(x.dims)]
        inputs = [x, self.constant(numpy.array(before + after, numpy.int64))]
        if mode == "constant":
            inputs.append(self.constant(numpy.float32(0.75)))
        return self.node("Pad", inputs, dims, min(x.low, 0), max(x.high, 1), exact=x.exact, mode=mode)

    def tile(self):
        x = self.pick(lambda value: 0 < value.rank)
        repeats = [self.draw.choice([1, 1, 2, 3]) for _ in x.dims]
        return self.node("Tile", [x, self.constant(numpy.array(repeats, numpy.int64))],
                         [dim.map(lambda size, times=times: size * times) for dim, times in zip(x.dims, repeats)], x.low, x.high, exact=x.exact)

    def expand(self):
        x = self.pick(lambda value: value.rank > 0 and any(dim.known and dim.sizes[0] == 1 for dim in value.dims))
        shape = [3 if dim.known and dim.sizes[0] == 1 else 1 for dim in x.dims]
        return self.node("Expand", [x, self.constant(numpy.array(shape, numpy.int64))], [known(3) if wanted == 3 else dim for dim, wanted in zip(x.dims, shape)], x.low, x.high, exact=x.exact)

    def gather(self):
        x = self.pick(lambda value: value.rank > 0 and any(dim.known for dim in value.dims))
        axis = self.axis(x, lambda dim: dim.known)
        size = x.dims[axis].sizes[0]
        indices = numpy.array([self.draw.randrange(-size, size) for _ in range(self.draw.randint(1, 5))], numpy.int64)
        return self.node("Gather", [x, self.constant(indices)], x.dims[:axis] + [known(len(indices))] + x.dims[axis + 1:], x.low, x.high, exact=x.exact, axis=axis)

    def topk(self):
        x = self.pick(lambda value: value.exact and value.name in ("x", "y", "z"))
        axis = self.axis(x, lambda dim: dim.known)
        count = self.draw.randint(1, x.dims[axis].sizes[0])
        return self.node("TopK", [x, self.constant(numpy.array([count], numpy.int64))], x.dims[:axis] + [known(count)] + x.dims[axis + 1:], x.low, x.high,
                         outputs=2, exact=True, axis=axis, largest=self.draw.randint(0, 1))

    def split(self):
        x = self.pick(lambda value: any(dim.known and dim.sizes[0] > 1 for dim in value.dims))
        axis = self.axis(x, lambda dim: dim.known and dim.sizes[0] > 1)
        size = x.dims[axis].sizes[0]
        first = self.draw.randint(1, size - 1)
        return self.node("Split", [x, self.constant(numpy.array([first, size - first], numpy.int64))], x.dims[:axis] + [known(first)] + x.dims[axis + 1:], x.low, x.high,
                         outputs=2, exact=x.exact, axis=axis)

    def matmul(self):
        x = self.pick(lambda value: value.rank > 1 and value.dims[-1].known)
        depth, width = x.dims[-1].sizes[0], self.draw.choice([1, 3, 8, 17, 33])
        bound = max(abs(x.low), abs(x.high)) * depth
        if x.rank == 2 and self.draw.random() < 0.4:
            turned = self.draw.random() < 0.5
            return self.bounded(self.node("Gemm", [x, self.floats([width, depth] if turned else [depth, width]), self.floats([width])], [x.dims[0], known(width)], -bound, bound,
                                          alpha=0.5, beta=1.5, transB=int(turned)))
        return self.bounded(self.node("MatMul", [x, self.floats([depth, width])], x.dims[:-1] + [known(width)], -bound, bound))

    def attention(self):
        x = self.pick(lambda value: value.rank > 1)
        turned = list(range(x.rank - 2)) + [x.rank - 1, x.rank - 2]
        other = self.node("Transpose", [x], x.dims[:-2] + [x.dims[-1], x.dims[-2]], x.low, x.high, perm=turned)
        bound = max(abs(x.low), abs(x.high), 1) ** 2 * 10
        scores = self.bounded(self.node("MatMul", [x, other], x.dims[:-2] + [x.dims[-2], x.dims[-2]], -bound, bound))
        return self.bounded(self.node("MatMul", [self.node("Softmax", [scores], scores.dims, 0, 1, axis=-1), x], x.dims, x.low, x.high))

    def einsum(self):
        x = self.pick(lambda value: value.rank == 3 and value.dims[-1].known)
        depth = x.dims[-1].sizes[0]
        bound = max(abs(x.low), abs(x.high)) * depth
        return self.bounded(self.node("Einsum", [x, self.floats([5, depth])], [x.dims[1], known(5), x.dims[0]], -bound, bound, equation="abc,dc->bda"))

    def image(self):
        return self.pick(lambda value: value.rank == 4 and value.dims[1].known)

    def conv(self):
        x = self.image()
        channels = x.dims[1].sizes[0]
        groups = self.draw.choice([each for each in (1, 2, channels) if channels % each == 0])
        filters = groups * self.draw.randint(1, 4)
        sizes, strides = [self.draw.randint(1, 3) for _ in range(2)], [self.draw.randint(1, 2) for _ in range(2)]
        dilations = [self.draw.choice([1, 1, 2]) for _ in range(2)]
        pads = [self.draw.randint((size - 1) * dilation, (size - 1) * dilation + 1) for size, dilation in zip(sizes, dilations)] + [0, 0]
        extents = [dim.map(lambda extent, i=i: (extent + pads[i] - (sizes[i] - 1) * dilations[i] - 1) // strides[i] + 1) for i, dim in enumerate(x.dims[2:])]
        bound = max(abs(x.low), abs(x.high)) * channels * 9
        return self.bounded(self.node("Conv", [x, self.floats([filters, channels // groups] + sizes), self.floats([filters])], [x.dims[0], known(filters)] + extents, -bound, bound,
                                      kernel_shape=sizes, strides=strides, dilations=dilations, pads=pads, group=groups))

    def conv_transpose(self):
        x = self.image()
        channels = x.dims[1].sizes[0]
        groups = self.draw.choice([each for each in (1, 2) if channels % each == 0])
        width = self.draw.randint(1, 3)
        sizes, strides = [self.draw.randint(1, 4) for _ in range(2)], [self.draw.randint(1, 3) for _ in range(2)]
        more = [self.draw.randrange(stride) for stride in strides]
        pads = [min(1, (size - 1) // 2) for size in sizes] * 2
        extents = [dim.map(lambda extent, i=i: (extent - 1) * strides[i] + sizes[i] + more[i] - 2 * pads[i]) for i, dim in enumerate(x.dims[2:])]
        if min(min(extent.sizes) for extent in extents) < 1:
            raise Refused()
        bound = max(abs(x.low), abs(x.high)) * channels * 9
        return self.bounded(self.node("ConvTranspose", [x, self.floats([channels, width] + sizes), self.floats([groups * width])], [x.dims[0], known(groups * width)] + extents, -bound, bound,
                                      kernel_shape=sizes, strides=strides, output_padding=more, pads=pads, group=groups))

    def pool(self):
        x = self.image()
        if self.draw.random() < 0.2:
            op = self.draw.choice(["GlobalAveragePool", "GlobalMaxPool"])
            return self.node(op, [x], x.dims[:2] + [known(1), known(1)], x.low, x.high)
        sizes, strides = [self.draw.randint(1, 3) for _ in range(2)], [self.draw.randint(1, 2) for _ in range(2)]
        pads = [size // 2 for size in sizes] * 2
        extents = [dim.map(lambda extent, i=i: (extent + 2 * pads[i] - sizes[i]) // strides[i] + 1) for i, dim in enumerate(x.dims[2:])]
        attributes = {"kernel_shape": sizes, "strides": strides, "pads": pads}
        op = self.draw.choice(["MaxPool", "AveragePool"])
        if op == "AveragePool":
            attributes["count_include_pad"] = self.draw.randint(0, 1)
        return self.node(op, [x], x.dims[:2] + extents, x.low, x.high, **attributes)

    def channels(self):
        x = self.image()
        size = x.dims[1].sizes[0]
        op = self.draw.choice(["BatchNormalization", "InstanceNormalization", "PRelu"])
        if op == "BatchNormalization":
            return self.bounded(self.node(op, [x, self.floats([size]), self.floats([size]), self.floats([size]), self.floats([size], 0.5, 2)], x.dims, -30, 30))
        if op == "PRelu":
            return self.node(op, [x, self.floats([size, 1, 1])], x.dims, -6, 6)
        return self.bounded(self.node(op, [x, self.floats([size]), self.floats([size])], x.dims, -10, 10, epsilon=0.1))

    def resize(self):
        x = self.image()
        scale = self.draw.choice([2.0, 3.0])
        extents = [dim.map(lambda size: int(size * scale)) for dim in x.dims[2:]]
        mode, rule = self.draw.choice([("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")])
        attributes = {"nearest_mode": "floor"} if mode == "nearest" else {}
        return self.node("Resize", [x, "", self.constant(numpy.array([1, 1, scale, scale], numpy.float32))], x.dims[:2] + extents, x.low, x.high, exact=x.exact and mode == "nearest",
                         mode=mode, coordinate_transformation_mode=rule, **attributes)

    def integers(self):
        x = self.pick(lambda value: value.exact)
        dtype, array = self.draw.choice([(TensorProto.INT64, numpy.int64), (TensorProto.INT32, numpy.int32)])
        whole = self.node("Cast", [x], x.dims, to=dtype)
        op = self.draw.choice(["Add", "Mul", "Sub", "Max"])
        whole = self.node(op, [whole, self.constant(array(self.draw.randint(-3, 3)))], x.dims)
        return self.bounded(self.node("Cast", [whole], x.dims, -60, 60, exact=True, to=TensorProto.FLOAT))

    def quantized(self):
        x = self.pick(lambda value: value.exact)
        scale, zero = self.constant(numpy.float32(0.37)), self.constant(self.draw.choice([numpy.uint8(117), numpy.int8(-5)]))
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero], x.dims), scale, zero], x.dims, x.low - 1, x.high + 1)

    def recurrent(self):
        x = self.pick(lambda value: value.rank == 3 and value.dims[-1].known)
        op, gates = self.draw.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
        depth, hidden = x.dims[-1].sizes[0], self.draw.choice([self.draw.randint(1, 5), 16, self.draw.randint(6, 40)])
        way, ways = self.draw.choice([("forward", 1), ("reverse", 1), ("bidirectional", 2)])
        options = {"linear_before_reset": self.draw.randint(0, 1)} if op == "GRU" else {}
        if self.draw.random() < 0.3:
            # Gates within 0 and 1 keep states within -1 and 1.
            gate, other = ["Sigmoid", "HardSigmoid"], ["Sigmoid", "HardSigmoid", "Softsign", "Tanh"]
            kinds = {"LSTM": [gate, other, other], "GRU": [gate, other], "RNN": [other]}[op]
            options["activations"] = [self.draw.choice(kind) for kind in kinds * ways]
        y = self.node(op, [x, self.floats([ways, gates * hidden, depth]), self.floats([ways, gates * hidden, hidden]), self.floats([ways, 2 * gates * hidden])],
                      [x.dims[0], known(ways), x.dims[1], known(hidden)], -1, 1, hidden_size=hidden, direction=way, **options)
        return y

    KINDS = [unary, unary, unary, positive, jump, binary, binary, binary, choose, reduction, reduction, greatest, softmax, cumsum, normalization, transpose, transpose, reshape, reshape,
             unsqueeze, squeeze, concat, slice, slice, pad, tile, expand, gather, topk, split, matmul, matmul, attention, einsum, conv, conv, conv_transpose, pool, channels, resize,
             integers, quantized, recurrent]

    def grow(self, count):
        while len(self.values) < count + len(self.inputs):
            try:
                value = self.draw.choice(self.KINDS)(self)
            except Refused:
                continue
            if value.rank <= 5 and max(int(numpy.prod([dim.sizes[i] for dim in value.dims])) for i in range(SETS)) <= MOST_ELEMENTS:
                self.values.append(value)

    def has_sizes_of_inputs(self, value):
        """Whether sizes of inputs alone decide its sizes, and no data."""
        return True

    def model(self):
        outputs = [value for value in self.values if value.name not in self.read and value not in self.inputs][-4:]
        # The run decides the rank of some.
        outputs = [self.node("Squeeze", [value], []) if self.draw.random() < 0.25 and self.has_sizes_of_inputs(value) else value for value in outputs]
        used = {name for node in self.nodes for name in node.input}
        inputs = [value for value in self.inputs if value.name in used]
        names = {}
        # What a file says of its inputs is not always so: no shape at all, or one name for all dims.
        told = self.draw.choice(["all"] * 8 + ["nothing", "one name"])

        def shape(value):
            if told == "nothing":
                return None
            if told == "one name":
                return [dim.sizes[0] if dim.known else "D" for dim in value.dims]
            return [dim.sizes[0] if dim.known else names.setdefault(dim.sizes, f"D{len(names)}") for dim in value.dims]

        graph = helper.make_graph(self.nodes, "random", [helper.make_tensor_value_info(value.name, TensorProto.FLOAT, shape(value)) for value in inputs],
                                  [helper.make_tensor_value_info(value.name, TensorProto.FLOAT, None) for value in outputs], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), inputs


    def shaken(self, model):
        """The model with other roundings, where these add up from step to step; None where there are no steps."""
        return None


def are_close(results, others):
    return all(a.shape == b.shape and numpy.allclose(a, b, **TOLERANCES) for a, b in zip(results, others))


def write_graph(folder, graph, session_of):
    model, inputs = graph.model()
    session = session_of(model)
    shaken = graph.shaken(model)
    shaken_session = shaken and session_of(shaken)
    random_state = numpy.random.default_rng(graph.draw.getrandbits(32))
    sets = []
    for number in range(SETS):
        feeds = {value.name: (random_state.integers(-192, 193, [dim.sizes[number] for dim in value.dims]) / 64).astype(numpy.float32) for value in inputs}
        results = session.run(None, feeds)
        if not all(numpy.isfinite(result).all() and numpy.abs(result).max(initial=0) < 1e4 for result in results):
            raise Refused()
        if shaken and not are_close(results, shaken_session.run(None, feeds)):
            raise Refused("roundings grow from step to step until they decide the result")
        sets.append((feeds.values(), results))
    write_case(folder, model, sets, TOLERANCES)


def main(make=Graph, prefix="random", description=__doc__, optimized=True):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    drawn = collections.Counter()

    def draw(number, session_of):
        graph = make(random.Random(arguments.seed * 1_000_003 + number))
        graph.grow(graph.draw.randint(4, 16))

        def write(folder):
            write_graph(folder, graph, session_of)
            drawn.update(graph.drawn)

        return f"{prefix}_{arguments.seed}_{number}", write

    refused = write_cases(arguments.folder, arguments.graphs, draw, optimized)
    print(f"note: {arguments.graphs} graphs, and {refused.total()} that were refused; operators: " + ", ".join(f"{op} {count}" for op, count in sorted(drawn.items())))


if __name__ == "__main__":
    main()
