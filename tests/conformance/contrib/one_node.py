"""A model of one node at random shapes, attributes and data, and what several families of operators draw."""
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 17
FLOAT_TOLERANCE = 1e-5
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
        self.called, self.tells_shapes = None, True  # the name of all open dims; without: each has its own
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
        dims = [size if axis in fixed else self.called or f"{name}_{axis}" for axis, size in enumerate(array.shape)]
        self.graph_inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims if self.tells_shapes else None))
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


def shape_of(c, least=1):
    return [c.size(1, 6) for _ in range(c.draw.randint(least, 4))]


def matmul_shapes(c):
    batch = [c.size(1, 4) for _ in range(c.draw.randint(0, 2))]
    m, k, n = c.size(), c.size(1, 40), c.size(1, 20)
    return batch, m, k, n


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
