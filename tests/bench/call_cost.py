#!/usr/bin/env python3
"""Cost of a call beyond its kernels in Python: a graph of one operator on three numbers, dyn's ways to call it beside ONNX Runtime's, in turn.

  PYTHONPATH=build/release/python python3 tests/bench/call_cost.py [--rounds 9] [--calls 20000] [--json FILE]

Each figure is the median over the rounds of a round's mean, in µs of the calling thread, which is the one that works: what else the machine does
counts little. Needs, from PyPI: numpy, and onnx and onnxruntime for the peer.
"""
import argparse
import json
import statistics
import time

import dyn
import numpy

MODEL = "dyn 1\ndim N in 0..1000000\ngraph add(x: f32[N], y: f32[N]) -> (z: f32[N]) {\n  z = x + y\n  return z\n}\n"


def ways_of_dyn(x, y):
    graph = dyn.Graph.from_text(MODEL, threads=1)
    feed, out = {"x": x, "y": y}, {"z": numpy.zeros_like(x)}
    call = dyn.Call(graph)
    call.set_input("x", x)
    call.set_input("y", y)

    def bound():
        call.run()
        return call.output(0)

    return {
        "dyn Graph.run": lambda: graph.run(feed)["z"],
        "dyn Graph.run, memory given": lambda: graph.run(feed, out)["z"],
        "dyn Call.run": call.run,
        "dyn Call.run and output": bound,
    }


def ways_of_session(module, model, x, y):
    options = module.SessionOptions()
    options.intra_op_num_threads = 1
    session = module.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {"x": x, "y": y}
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_cpu_input("y", y)
    binding.bind_ortvalue_output("z", module.OrtValue.ortvalue_from_numpy(numpy.zeros_like(x)))
    name = "dyn" if module is dyn else "ONNX Runtime"
    return {f"{name} InferenceSession.run": lambda: session.run(None, feed)[0], f"{name} run_with_iobinding": lambda: session.run_with_iobinding(binding)}


def ways_of_sessions(x, y):
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        print(f"without ONNX Runtime: {error}")
        return {}
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N"]) for name in "xyz"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "y"], ["z"])], "add", info[:2], info[2:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9).SerializeToString()
    return ways_of_session(dyn, model, x, y) | ways_of_session(onnxruntime, model, x, y)


def mean_of(way, calls):
    begun = time.thread_time()
    for _ in range(calls):
        way()
    return (time.thread_time() - begun) / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    x, y = numpy.array([1, 2, 3], numpy.float32), numpy.array([5, 7, 11], numpy.float32)
    ways = ways_of_dyn(x, y) | ways_of_sessions(x, y)
    for name, way in ways.items():
        answer = way()
        assert answer is None or numpy.array_equal(answer, x + y), name
    times = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            times[name].append(mean_of(way, arguments.calls))
    medians = {name: statistics.median(own) for name, own in times.items()}
    for name, microseconds in medians.items():
        print(f"{microseconds:7.2f}  {name}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"microseconds": {name: round(own, 3) for name, own in medians.items()}}, file, indent=1)


if __name__ == "__main__":
    main()
