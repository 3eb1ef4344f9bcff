#!/usr/bin/env python3
"""Random ensembles of trees, dynrun beside ONNX Runtime, one thread each.

    python3 tests/bench/trees.py --dynrun build/release/bin/dynrun --trees 10 100 500 --depths 6 12 --rows 1 16 1000

Trees of depth 6 are whole; of deeper ones 7 % of all inner nodes are leaves instead. 30 features. Each program runs one input again and again, which is to the liking of ONNX
Runtime: its walk branches, and the processor learns a few rows by heart. The time is the 2nd percentile; ONNX Runtime's has about 3 us of Python in it. Prints a table.

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import csv
import io
import pathlib
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

FEATURES = 30
WHOLE_DEPTH = 6


def model_of(trees, depth, random):
    lists = {name: [] for name in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids",
                                   "target_treeids", "target_nodeids", "target_ids", "target_weights")}
    for tree in range(trees):
        nodes, open_ = [], [(0, None, None)]
        while open_:
            level, parent, side = open_.pop()
            if parent is not None:
                nodes[parent][side] = len(nodes)
            is_leaf = level == depth or (level > 0 and depth > WHOLE_DEPTH and random.random() < 0.07)
            if not is_leaf:
                open_ += [(level + 1, len(nodes), 1), (level + 1, len(nodes), 0)]
            nodes.append([0, 0, is_leaf])
        for place, (yes, no, is_leaf) in enumerate(nodes):
            for name, value in (("treeids", tree), ("nodeids", place), ("featureids", int(random.integers(FEATURES))), ("values", float(random.normal())),
                                ("modes", "LEAF" if is_leaf else "BRANCH_LEQ"), ("truenodeids", yes), ("falsenodeids", no)):
                lists["nodes_" + name].append(value)
            if is_leaf:
                for name, value in (("treeids", tree), ("nodeids", place), ("ids", 0), ("weights", float(random.normal()))):
                    lists["target_" + name].append(value)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **lists)
    graph = helper.make_graph([node], "trees", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)


def onnxruntime_seconds(session, rows, random, duration):
    x = random.normal(size=(rows, FEATURES)).astype(numpy.float32)
    times, end = [], time.perf_counter() + duration
    while time.perf_counter() < end or len(times) < 20:
        start = time.perf_counter()
        session.run(None, {"x": x})
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 50]


def dyn_seconds(dynrun, path, rows, duration):
    result = subprocess.run([dynrun, "bench", str(path), "--threads", "1", "--dims", f"N={rows}", "--skip-load", "--duration", str(duration), "--percentile", "2", "--format", "csv"],
                            capture_output=True, text=True, check=True)
    lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    return min(float(row["p2_ms"]) for row in csv.DictReader(io.StringIO("\n".join(lines))) if row.get("p2_ms")) * 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun")
    parser.add_argument("--trees", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--depths", type=int, nargs="+", default=[6, 12])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 1000])
    parser.add_argument("--duration", type=float, default=0.5, help="seconds of each measurement")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = numpy.random.default_rng(arguments.seed)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    print("| trees | depth | rows | ONNX Runtime us | dyn us | ratio |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trees.onnx"
        for trees in arguments.trees:
            for depth in arguments.depths:
                onnx.save(model_of(trees, depth, random), path)
                session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
                for rows in arguments.rows:
                    # In turn, since others may use the machine; the better of two each.
                    other = own = float("inf")
                    for _ in range(2):
                        other = min(other, onnxruntime_seconds(session, rows, random, arguments.duration))
                        own = min(own, dyn_seconds(arguments.dynrun, path, rows, arguments.duration))
                    print(f"| {trees} | {depth} | {rows} | {other * 1e6:.1f} | {own * 1e6:.1f} | {other / own:.2f} |", flush=True)


if __name__ == "__main__":
    main()
