#!/usr/bin/env python3
"""Random graphs with Loop, Scan and If with what ONNX Runtime makes of them, as cases for dyn-conformance.

  random_loops.py FOLDER [--graphs 60] [--seed 1]

As random_graphs.py, with one to three loops in each graph. Numbers of steps are constants, sizes, or follow from the inputs' data, as a count or through a condition. Bodies
have a few operators of random_graphs.py on what goes on from step to step, on values from around the loop and on slices; some values grow at each step, and some bodies have
a branch or a loop themselves. What the steps make is an output, or is read on. Where it would come out otherwise by other roundings in the steps, another graph is drawn.
"""
import collections
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import random_graphs
from random_graphs import Graph, Refused, Value


class Body(Graph):
    """The inside of a loop: its nodes may read `values`."""

    def __init__(self, draw, prefix, values):
        self.draw, self.prefix = draw, prefix
        self.nodes, self.initializers, self.inputs, self.values, self.read = [], [], list(values), list(values), set()
        self.drawn = collections.Counter()

    def name(self):
        return f"{self.prefix}{len(self.nodes)}_{len(self.initializers)}"

    def like(self, value, low=-1, high=1):
        """Something of the body, with the dims of the value."""
        other = self.pick()
        if other.dims == value.dims:
            return self.node("Tanh", [other], value.dims, low, high)
        mean = self.node("Tanh", [self.node("ReduceMean", [other], [], other.low, other.high, keepdims=0)], [], low, high)
        return mean

    def branch(self, condition, value):
        """value, or less of it, by a condition."""
        graphs = []
        for factor in (0.5, -0.25):
            inner = Body(self.draw, f"{self.prefix}{len(self.nodes)}{'p' if factor > 0 else 'm'}", [value])
            result = inner.node("Mul", [value, inner.constant(numpy.float32(factor))], value.dims)
            graphs.append(inner.graph([result]))
        return self.node("If", [condition], value.dims, -4, 4, then_branch=graphs[0], else_branch=graphs[1])

    def graph(self, outputs, inputs=(), first=()):
        types = [helper.make_tensor_value_info(name, dtype, []) for name, dtype in first]
        ports = [helper.make_tensor_value_info(value.name, TensorProto.FLOAT, None) for value in inputs]
        results = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in
                   [each if isinstance(each, tuple) else (each.name, TensorProto.FLOAT) for each in outputs]]
        return helper.make_graph(self.nodes, self.prefix, types + ports, results, self.initializers)


def shake_bodies(graph, draw, inside=False):
    """Changes each float constant of the bodies by about ten roundings."""
    for initializer in graph.initializer if inside else []:
        if initializer.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(initializer)
            initializer.CopyFrom(numpy_helper.from_array(values * numpy.float32(1 + draw.choice([-1, 1]) * 1e-6), initializer.name))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                shake_bodies(attribute.g, draw, True)


class LoopGraph(Graph):
    def __init__(self, draw):
        super().__init__(draw)
        self.stacks = []

    def grow(self, count):
        for _ in range(self.draw.randint(1, 3)):
            super().grow(len(self.values) - len(self.inputs) + self.draw.randint(1, max(1, count // 3)))
            try:
                self.draw.choice([self.loop, self.loop, self.scan])()
            except Refused:
                continue
        super().grow(len(self.values) - len(self.inputs) + self.draw.randint(1, 3))

    def has_sizes_of_inputs(self, value):
        """What loops carry may grow. docs/onnx.md: a size that data decide is an error where a Squeeze without axes finds that it is 1."""
        made_by = {name: node for node in self.nodes for name in node.output}
        names, seen = [value.name], set()
        while names:
            node = made_by.get(names.pop())
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if node.op_type in ("Loop", "Scan"):
                return False
            names.extend(node.input)
        return True

    def shaken(self, model):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        shake_bodies(copy.graph, random.Random(1))
        return copy

    def whole(self, most):
        """An i64[] in 1 .. most that follows from data."""
        x = self.pick(lambda value: value.exact)
        sum_of = self.node("ReduceSum", [x], [], keepdims=0)
        scaled = self.node("Abs", [self.node("Mul", [sum_of, self.constant(numpy.float32(64))], [])], [])
        number = self.node("Mod", [self.node("Cast", [scaled], [], to=TensorProto.INT64), self.constant(numpy.int64(most))], [])
        return self.node("Add", [number, self.constant(numpy.int64(1))], [])

    def around(self):
        """A value that a body reads from outside."""
        value = self.pick()
        return self.node("Identity", [value], value.dims, value.low, value.high, exact=value.exact)

    def first(self):
        value = self.pick(lambda each: each.rank <= 3)
        return self.node("Tanh", [value], value.dims, -1, 1)

    def steps(self):
        """The trip count, the number of steps where it is known, and whether a condition ends the loop before."""
        kind = self.draw.choice(["few", "many", "size", "data", "condition", "both"])
        if kind in ("few", "many"):
            return self.constant(numpy.int64(self.draw.randint(1, 3) if kind == "few" else self.draw.randint(40, 60))), None, None
        if kind == "size":
            x = self.pick(lambda value: value.rank > 0)
            axis = self.axis(x)
            size = self.node("Shape", [x], [], start=axis, end=axis + 1)
            return self.node("Squeeze", [size, self.constant(numpy.array([0], numpy.int64))], []), x.dims[axis], None
        if kind == "data":
            return self.whole(7), None, None
        return (self.constant(numpy.int64(4)) if kind == "both" else ""), None, self.whole(7)

    def body(self, carried, captured, extra=()):
        prefix = f"b{len(self.nodes)}_"
        values = [Value(f"{prefix}in{i}", value.dims, low=-4, high=4) for i, value in enumerate(carried)]
        body = Body(self.draw, prefix, values + list(captured) + list(extra))
        body.grow(self.draw.randint(1, 4))
        self.drawn += body.drawn
        return body, values

    def go_on(self, body, values):
        """What goes on to the next step."""
        results = []
        for value in values:
            less = body.node("Mul", [value, body.constant(numpy.float32(0.4))], value.dims)
            if self.draw.random() < 0.3:
                mean = body.node("ReduceMean", [value], [], keepdims=0)
                less = body.branch(body.node("Greater", [mean, body.constant(numpy.float32(100))], []), less)
            results.append(body.node("Add", [less, body.like(value)], value.dims, -4, 4))
        return results

    def kept(self, body):
        """What each step makes beside that."""
        kept = []
        for _ in range(self.draw.randint(0, 2)):
            value = body.pick(lambda each: each.rank <= 3)
            kept.append(body.node("Tanh", [value], value.dims, -1, 1))
        return kept

    def take(self, node, names, results, kept, count):
        """Results of the loop; of stacks whose length data decide, sums are read on."""
        self.nodes.append(node)
        self.drawn[node.op_type] += 1
        for name, value in zip(names, results):
            self.values.append(Value(name, value.dims, low=-4, high=4))
        for name, value in zip(names[len(results):], kept):
            if count is not None:
                self.values.append(Value(name, [count] + value.dims, low=-1, high=1))
                continue
            self.stacks.append(name)
            self.values.append(self.node("ReduceMean", [name, self.constant(numpy.array([0], numpy.int64))], value.dims, -1, 1, keepdims=0))

    def loop(self):
        carried, captured = [self.first() for _ in range(self.draw.randint(1, 2))], [self.around() for _ in range(self.draw.randint(0, 2))]
        trips, count, limit = self.steps()
        body, values = self.body(carried, captured)
        step, go = body.prefix + "step", body.prefix + "go"
        inner = self.draw.random() < 0.3
        if inner:
            values[0] = self.inner_loop(body, values[0], step)
        results, kept = self.go_on(body, values), self.kept(body)
        if inner:  # the graph's input is still the first one
            values[0] = Value(f"{body.prefix}in0", values[0].dims)
        grows = self.draw.random() < 0.4
        if grows:
            rows = Value(body.prefix + "rows", [random_graphs.known(0)])
            row = body.node("Reshape", [body.node("ReduceMean", [results[0]], [], keepdims=0), body.constant(numpy.array([1], numpy.int64))], [])
            longer = body.node("Concat", [rows, row, row], [], axis=0)
        goes_on = (go, TensorProto.BOOL)
        if limit is not None:
            next_step = body.node("Add", [step, body.constant(numpy.int64(1))], [])
            goes_on = (body.node("Less", [next_step, limit], []).name, TensorProto.BOOL)
        graph = body.graph([goes_on] + results + ([longer] if grows else []) + kept, values + ([rows] if grows else []), [(step, TensorProto.INT64), (go, TensorProto.BOOL)])
        names = [f"l{len(self.nodes)}_{i}" for i in range(len(results) + grows + len(kept))]
        inputs = [each if isinstance(each, str) else each.name for each in [trips, ""] + carried + ([self.constant(numpy.zeros(0, numpy.float32))] if grows else [])]
        node = helper.make_node("Loop", inputs, names, body=graph)
        if grows:
            self.stacks.append(names.pop(len(results)))
        self.take(node, names, results, kept, count)

    def inner_loop(self, body, value, step):
        """A loop of as many steps as there were of the loop around it."""
        inner = Body(self.draw, f"{body.prefix}{len(body.nodes)}i", [Value(f"{body.prefix}{len(body.nodes)}iv", value.dims)])
        less = inner.node("Mul", [inner.values[0], inner.constant(numpy.float32(0.75))], value.dims)
        graph = inner.graph([(inner.prefix + "go", TensorProto.BOOL), less], [inner.inputs[0]], [(inner.prefix + "step", TensorProto.INT64), (inner.prefix + "go", TensorProto.BOOL)])
        return body.node("Loop", [step, "", value], value.dims, -4, 4, body=graph)

    def scan(self):
        carried = [self.first() for _ in range(self.draw.randint(0, 2))]
        x = self.pick(lambda value: 0 < value.rank <= 4)
        axis, way = self.axis(x), self.draw.randint(0, 1)
        rest = x.dims[:axis] + x.dims[axis + 1:]
        slice_of = Value(f"b{len(self.nodes)}_slice", rest, low=x.low, high=x.high)
        body, values = self.body(carried, [self.around()] if self.draw.random() < 0.5 else [], [slice_of])
        values = [Value(f"{body.prefix}in{i}", value.dims) for i, value in enumerate(carried)]
        results = self.go_on(body, values)
        kept = self.kept(body) or [body.node("Neg", [slice_of], rest, -x.high, -x.low)]
        # An output's axis may count from the end.
        axes = [self.draw.randint(-value.rank - 1, value.rank) for value in kept]
        ways = [self.draw.randint(0, 1) for _ in kept]
        graph = body.graph(results + kept, values + [Value(slice_of.name, rest)])
        names = [f"l{len(self.nodes)}_{i}" for i in range(len(results) + len(kept))]
        self.nodes.append(helper.make_node("Scan", [value.name for value in carried + [x]], names, body=graph, num_scan_inputs=1, scan_input_axes=[axis], scan_input_directions=[way],
                                           scan_output_axes=axes, scan_output_directions=ways))
        self.read.add(x.name)
        self.drawn["Scan"] += 1
        for name, value in zip(names, results):
            self.values.append(Value(name, value.dims, low=-4, high=4))
        for name, value, place in zip(names[len(results):], kept, axes):
            place = place + value.rank + 1 if place < 0 else place
            self.values.append(Value(name, value.dims[:place] + [x.dims[axis]] + value.dims[place:], low=-4, high=4))

    def model(self):
        model, inputs = super().model()
        model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.stacks)
        return model, inputs


if __name__ == "__main__":
    # ONNX Runtime's passes end the process where some bodies read what is quantised around them.
    random_graphs.main(LoopGraph, "loops", __doc__, optimized=False)
