#!/usr/bin/env python3
"""Times BERT-base in dyn and in ONNX Runtime, in alternating slices, and prints the ratio.

The ONNX model is built here as PyTorch exports BERT (opset 17, dynamic B and S), with the weights that
examples/models/bert_base.dyn declares, filled at random. Both sides run in processes of their own, on the CPU, at the
same threads; ONNX Runtime with all of its optimisations.

Needs, from PyPI: numpy onnx onnxruntime.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from model_weights import random_weights  # noqa: E402

MODEL = SOURCE / "examples" / "models" / "bert_base.dyn"
LAYERS, HEADS, DEPTH, WORDS = 12, 12, 64, 30522


class Builder:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self, weights):
        self.nodes = []
        self.initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]

    def constant(self, value, dtype):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.array(value, dtype=dtype), name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, x, name):
        return self.node("Add", self.node("MatMul", x, f"{name}.weight"), f"{name}.bias")

    def layer_norm(self, x, name):
        return self.node("LayerNormalization", x, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=1e-12)

    def heads(self, x, order):
        shape = self.constant([0, 0, HEADS, DEPTH], numpy.int64)
        return self.node("Transpose", self.node("Reshape", x, shape), perm=order)

    def attention(self, x, hide, name):
        q = self.heads(self.linear(x, f"{name}.self.query"), [0, 2, 1, 3])
        k = self.heads(self.linear(x, f"{name}.self.key"), [0, 2, 3, 1])
        v = self.heads(self.linear(x, f"{name}.self.value"), [0, 2, 1, 3])
        scores = self.node("Div", self.node("MatMul", q, k), self.constant(DEPTH**0.5, numpy.float32))
        shares = self.node("Softmax", self.node("Add", scores, hide), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", shares, v), perm=[0, 2, 1, 3])
        joined = self.node("Reshape", mixed, self.constant([0, 0, HEADS * DEPTH], numpy.int64))
        return self.layer_norm(self.node("Add", self.linear(joined, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, self.constant(2**0.5, numpy.float32)))
        factor = self.node("Add", erf, self.constant(1, numpy.float32))
        return self.node("Mul", self.node("Mul", x, factor), self.constant(0.5, numpy.float32))

    def embeddings(self):
        name = "embeddings."
        words = self.node("Gather", f"{name}word_embeddings.weight", "ids")
        types = self.node("Gather", f"{name}token_type_embeddings.weight", "type_ids")
        length = self.node("Gather", self.node("Shape", "ids"), self.constant([1], numpy.int64), axis=0)
        positions = self.node("Slice", f"{name}position_embeddings.weight", self.constant([0], numpy.int64), length,
                              self.constant([0], numpy.int64))
        total = self.node("Add", self.node("Add", words, types), positions)
        return self.layer_norm(total, f"{name}LayerNorm")

    def hide(self):
        mask = self.node("Unsqueeze", "mask", self.constant([1, 2], numpy.int64))
        hidden = self.node("Sub", self.constant(1, numpy.float32), mask)
        return self.node("Mul", hidden, self.constant(-10000, numpy.float32))


def build(weights):
    builder = Builder(weights)
    x = builder.embeddings()
    hide = builder.hide()
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        y = builder.attention(x, hide, f"{name}.attention")
        inner = builder.gelu(builder.linear(y, f"{name}.intermediate.dense"))
        x = builder.layer_norm(builder.node("Add", builder.linear(inner, f"{name}.output.dense"), y),
                               f"{name}.output.LayerNorm")
    inputs = [helper.make_tensor_value_info(name, kind, ["B", "S"])
              for name, kind in (("ids", TensorProto.INT64), ("type_ids", TensorProto.INT64), ("mask", TensorProto.FLOAT))]
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["B", "S", HEADS * DEPTH])]
    graph = helper.make_graph(builder.nodes, "bert_base", inputs, outputs, builder.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def serve(path, threads):
    """The peer's process: reads "S seconds" lines, answers each with the median in ms."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    for line in sys.stdin:
        length, seconds = int(line.split()[0]), float(line.split()[1])
        inputs = {"ids": random.integers(0, WORDS, (1, length)), "type_ids": random.integers(0, 2, (1, length)),
                  "mask": numpy.ones((1, length), numpy.float32)}
        session.run(None, inputs)
        session.run(None, inputs)
        samples = []
        end = time.perf_counter() + seconds
        while len(samples) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            session.run(None, inputs)
            samples.append(time.perf_counter() - start)
        print(statistics.median(samples) * 1e3, flush=True)


class Peer:
    def __init__(self, path, threads):
        command = [sys.executable, __file__, "--serve", path, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def median_ms(self, length, seconds):
        self.process.stdin.write(f"{length} {seconds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def dyn_row(options, threads, length, precision):
    command = [options.dynrun, "bench", str(MODEL), "--random-weights", "--skip-load", "--dims", "B=1", "--dims",
               f"S={length}", "--threads", str(threads), "--precision", precision, "--warmup", "0.2", "--duration", str(options.slice),
               "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)[0]


def compare(options, path, threads):
    peer = Peer(path, threads)
    for length in options.lengths:
        theirs, ours = [], {precision: [] for precision in options.precisions}
        for _ in range(options.rounds):
            theirs.append(peer.median_ms(length, options.slice))
            time.sleep(0.05)  # The peer's threads spin for a while after a run.
            for precision in options.precisions:
                ours[precision].append(dyn_row(options, threads, length, precision))
        other = statistics.median(theirs)
        for precision, rows in ours.items():
            mine = statistics.median(row["median_ms"] for row in rows)
            limits = [row.get("limit_ratio") for row in rows]
            limit = f"{statistics.median(limits):.2f}" if None not in limits else ""
            print(f"| {threads} | {length} | {precision} | {mine:.2f} | {other:.2f} | {other / mine:.2f} | {limit} |", flush=True)
    peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 2, 7, 16, 53, 128, 203, 389, 512])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precisions", nargs="+", default=["f32"], help="how dyn keeps the weights of matmuls: f32, bf16, f16, i8")
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=1.0, help="seconds of one slice")
    parser.add_argument("--temp", help="where the ONNX file of 440 MB goes (default: the system's)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.threads[0])
    print(f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}, {os.cpu_count()} CPUs, BERT-base, B=1, f32")
    print("| threads | S | weights | dyn ms | onnxruntime ms | ratio_onnxruntime | limit_ratio |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.temp) as folder:
        path = str(pathlib.Path(folder) / "bert_base.onnx")
        onnx.save(build(random_weights(MODEL.read_text(), numpy.random.default_rng(1))), path)
        for threads in options.threads:
            compare(options, path, threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
