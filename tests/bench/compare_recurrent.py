#!/usr/bin/env python3
"""Times single recurrent layers in dyn beside ONNX Runtime, in alternating processes, and prints a table of ratios.

A model is one LSTM, GRU or RNN with random weights, of as many inputs as its state has elements. Each side runs for a slice of time, in turn, for
some rounds; its figure is its fastest run of all, so that other work on the machine counts little. A ratio is ONNX Runtime's time over dyn's.

Needs, from PyPI: numpy, onnx and onnxruntime.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SIZES = [(1, 1), (20, 1), (200, 1), (2000, 1), (20, 4), (200, 4), (20, 64)]  # steps, batch


def save_layer(path, op, hidden, direction):
    gates, ways = GATES[op], 2 if direction == "bidirectional" else 1
    random = numpy.random.default_rng(hidden)
    bound = 1 / math.sqrt(hidden)
    weights = {"w": (ways, gates * hidden, hidden), "r": (ways, gates * hidden, hidden), "b": (ways, 2 * gates * hidden)}
    constants = [numpy_helper.from_array(random.uniform(-bound, bound, shape).astype(numpy.float32), name) for name, shape in weights.items()]
    attributes = {"linear_before_reset": 1} if op == "GRU" else {}
    node = helper.make_node(op, ["x", *weights], ["y"], hidden_size=hidden, direction=direction, **attributes)
    graph = helper.make_graph([node], "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["S", "B", hidden])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def dyn_seconds(options, path, shape, threads):
    command = [options.dynrun, "bench", path, "--threads", str(threads), "--skip-load", "--duration", str(options.slice), "--warmup", "0.02",
               "--percentile", "0", "--format", "json", "--shapes", "x=" + "x".join(map(str, shape))]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return rows[0]["p0_ms"] / 1e3


def peer_seconds(options, session, x):
    fastest, end = math.inf, time.perf_counter() + options.slice
    while time.perf_counter() < end or fastest == math.inf:
        start = time.perf_counter()
        session.run(None, {"x": x})
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def session_of(path, threads):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])


def compare(options, folder, op, hidden, direction, threads):
    path = str(pathlib.Path(folder) / f"{op}_{hidden}_{direction}.onnx")
    save_layer(path, op, hidden, direction)
    session = session_of(path, threads)
    cells, ratios = [], []
    for steps, batch in SIZES:
        if steps * batch * hidden > options.most_elements:
            cells.append("")
            continue
        x = numpy.random.default_rng(steps).standard_normal((steps, batch, hidden)).astype(numpy.float32)
        own = peer = math.inf
        for _ in range(options.rounds):
            peer = min(peer, peer_seconds(options, session, x))
            own = min(own, dyn_seconds(options, path, x.shape, threads))
        ratios.append(peer / own)
        cells.append(f"{own * 1e6:.1f} ({peer / own:.2f})")
    print(f"| {threads} | {op} {hidden}, {direction} | " + " | ".join(cells) + " |", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", required=True)
    parser.add_argument("--ops", nargs="+", default=["LSTM", "GRU"], choices=GATES)
    parser.add_argument("--hidden", nargs="+", type=int, default=[16, 64, 128, 256, 512])
    parser.add_argument("--directions", nargs="+", default=["forward", "bidirectional"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--slice", type=float, default=0.15, help="seconds of one side in one round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--most-elements", type=int, default=1 << 19, help="of an input; larger ones are left out")
    options = parser.parse_args()
    print(f"ONNX Runtime {onnxruntime.__version__}; microseconds of dyn (ratio)\n")
    print("| threads | layer | " + " | ".join(f"S={steps} B={batch}" for steps, batch in SIZES) + " |")
    print("|---" * (len(SIZES) + 2) + "|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads:
            for op in options.ops:
                for hidden in options.hidden:
                    for direction in options.directions:
                        ratios += compare(options, folder, op, hidden, direction, threads)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\ngeometric mean {mean:.2f}, least {min(ratios):.2f}, below 1 in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    main()
