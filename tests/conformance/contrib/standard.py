"""Standard operators in files that say less of their inputs than is so, or something else, and a Scan of old."""
import numpy
from onnx import TensorProto, helper

from contrib.one_node import Case, case, shape_of


def broadcast_shapes(c, count):
    """Shapes that broadcast, most sizes of which are 1 or the greatest."""
    shape = shape_of(c)
    return [[size if c.flip(0.6) else 1 for size in shape] for _ in range(count)]


def sums(c):
    """A node whose inputs may have any ranks and sizes."""
    shapes = broadcast_shapes(c, 2)
    for shape in shapes:
        c.put(c.floats(*shape[c.draw.randint(0, len(shape) - 1):]))
    return c


@case
def Add_one_name(draw):
    c = Case(draw, "Add", "")
    c.called = "N"
    return sums(c)


@case
def Where_one_name(draw):
    c = Case(draw, "Where", "")
    c.called = "N"
    a, b, d = broadcast_shapes(c, 3)
    return c.put(c.whole(numpy.uint8, *a, low=0, high=1).astype(bool)).put(c.floats(*b)).put(c.floats(*d))


@case
def MatMul_one_name(draw):
    c = Case(draw, "MatMul", "")
    c.called = "N"
    batch, m, k, n = c.size(1, 3), c.size(), c.size(), c.size()
    return c.put(c.floats(*draw.choice([[batch], [1], []]), m, k)).put(c.floats(*draw.choice([[batch], [1], []]), k, n))


@case
def Concat_one_name(draw):
    c = Case(draw, "Concat", "")
    c.called = "N"
    shape = shape_of(c)
    axis = draw.randrange(len(shape))
    for _ in range(draw.randint(2, 3)):
        c.put(c.floats(*shape[:axis], c.size(1, 5), *shape[axis + 1:]))
    return c.set(axis=axis)


@case
def Add_unranked(draw):
    c = Case(draw, "Add", "")
    c.tells_shapes = False
    return sums(c)


@case
def Softmax_unranked(draw):
    c = Case(draw, "Softmax", "")
    c.tells_shapes = False
    return c.put(c.floats(*shape_of(c))).set(axis=-1)


def fold(c, states, scanned, width):
    """A body: what it makes of its inputs is kept, and shrunk for each state, so that roundings do not grow from step to step."""
    names = [f"state{i}" for i in range(states)] + [f"slice{i}" for i in range(scanned)]
    nodes, sum_of = [], names[0]
    for i, name in enumerate(names[1:]):
        nodes.append(helper.make_node(c.draw.choice(["Max", "Sub"]), [sum_of, name], [f"sum{i}"]))
        sum_of = f"sum{i}"
    nodes += [helper.make_node("Sin", [sum_of], ["mixed"]), helper.make_node("Cast", ["mixed"], ["whole"], to=TensorProto.INT32),
              helper.make_node("ReduceSum", ["mixed"], ["total"], axes=[0], keepdims=0)]
    for i in range(states):
        nodes.append(helper.make_node("Constant", [], [f"factor{i}"], value=helper.make_tensor("", TensorProto.FLOAT, [], [0.5 - 0.125 * i])))
        nodes.append(helper.make_node("Mul", ["mixed", f"factor{i}"], [f"next{i}"]))
    outputs = [(f"next{i}", TensorProto.FLOAT, [width]) for i in range(states)] + [("mixed", TensorProto.FLOAT, [width]), ("whole", TensorProto.INT32, [width]), ("total", TensorProto.FLOAT, [])]
    return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(name, TensorProto.FLOAT, [width]) for name in names],
                             [helper.make_tensor_value_info(*output) for output in outputs])


@case
def Scan_8(draw):
    c = Case(draw, "Scan", "")
    c.opset = 8
    states, scanned = c.size(0, 2), c.size(1, 2)
    batch, steps, width = c.size(1, 4), c.size(1, 9), c.size(1, 4)
    c.maybe(c.whole(numpy.int64, batch, low=1, high=steps))
    for _ in range(states):
        c.put(c.floats(batch, width), fixed=(1,))
    for _ in range(scanned):
        c.put(c.floats(batch, steps, width), fixed=(2,) if c.flip() else (0, 1, 2))
    c.outputs = states + 3
    return c.set(body=fold(c, states, scanned, width), num_scan_inputs=scanned, directions=[draw.randint(0, 1) for _ in range(scanned)])
