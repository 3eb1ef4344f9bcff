#!/usr/bin/env python3
"""Times BERT-base in dyn beside ONNX Runtime and PyTorch, in alternating slices, and prints the ratios.

All sides run in processes of their own, on the CPU, at the same threads, with the same random weights; ONNX Runtime with all of
its optimisations, PyTorch in eager mode with its fused attention. Before timing, the peers' outputs are compared with each other.
A ratio is the median of the rounds' ratios: the peer's time over dyn's.

Needs, from PyPI: numpy, onnx and onnxruntime, or torch.
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

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from model_weights import random_weights  # noqa: E402

MODEL = SOURCE / "examples" / "models" / "bert_base.dyn"
WORDS = 30522


def weights():
    return random_weights(MODEL.read_text(), numpy.random.default_rng(1))


def onnxruntime_runner(folder, threads):
    import onnx
    import onnxruntime
    from bert_onnx import build_onnx

    path = pathlib.Path(folder) / "bert_base.onnx"
    if not path.exists():
        onnx.save(build_onnx(weights()), path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnxruntime.__version__, lambda inputs: session.run(None, inputs)[0]


def pytorch_runner(_, threads):
    import torch
    from bert_torch import TorchBert

    torch.set_num_threads(threads)
    model = TorchBert(weights())
    return torch.__version__, lambda inputs: model(**inputs).numpy()


RUNNERS = {"onnxruntime": onnxruntime_runner, "pytorch": pytorch_runner}


def inputs_of(batch, length):
    random = numpy.random.default_rng(batch * 1000 + length)
    return {"ids": random.integers(0, WORDS, (batch, length)), "type_ids": random.integers(0, 2, (batch, length)),
            "mask": numpy.ones((batch, length), numpy.float32)}


def serve(name, folder, threads):
    """A peer's process: its version, then for each line "B S seconds" the median in ms and a sum of its output's magnitudes."""
    version, run = RUNNERS[name](folder, threads)
    print(version, flush=True)
    for line in sys.stdin:
        batch, length, seconds = int(line.split()[0]), int(line.split()[1]), float(line.split()[2])
        inputs = inputs_of(batch, length)
        run(inputs)
        output = run(inputs)
        samples = []
        end = time.perf_counter() + seconds
        while len(samples) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            run(inputs)
            samples.append(time.perf_counter() - start)
        print(statistics.median(samples) * 1e3, float(numpy.abs(output, dtype=numpy.float64).sum()), flush=True)


class Peer:
    def __init__(self, name, folder, threads):
        command = [sys.executable, __file__, "--serve", name, folder, "--threads", str(threads)]
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()

    def measure(self, batch, length, seconds):
        self.process.stdin.write(f"{batch} {length} {seconds}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"{self.name} ended at B={batch}, S={length}")
        return float(answer[0]), float(answer[1])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def dyn_row(options, threads, batch, length, precision):
    command = [options.dynrun, "bench", str(MODEL), "--random-weights", "--skip-load", "--dims", f"B={batch}", "--dims",
               f"S={length}", "--threads", str(threads), "--precision", precision, "--warmup", "0.2", "--duration", str(options.slice),
               "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)[0]


def check_agreement(sums, batch, length):
    lowest, highest = min(sums.values()), max(sums.values())
    if highest - lowest > 1e-4 * highest:
        raise SystemExit(f"the peers' outputs differ at B={batch}, S={length}: {sums}")


def compare(options, peers, threads, batch, length):
    theirs = {peer.name: [] for peer in peers}
    ours = {precision: [] for precision in options.precisions}
    for _ in range(options.rounds):
        sums = {}
        for peer in peers:
            milliseconds, sums[peer.name] = peer.measure(batch, length, options.slice)
            theirs[peer.name].append(milliseconds)
            time.sleep(0.05)  # A peer's threads spin for a while after a run.
        check_agreement(sums, batch, length)
        for precision in options.precisions:
            ours[precision].append(dyn_row(options, threads, batch, length, precision))
    for precision, rows in ours.items():
        mine = [row["median_ms"] for row in rows]
        best = [min(times) for times in zip(*theirs.values())]
        limits = [row["limit_ratio"] for row in rows if row.get("limit_ratio") is not None]
        cells = [threads, batch, length, precision, f"{statistics.median(mine):.2f}"]
        cells += [f"{statistics.median(times):.2f}" for times in theirs.values()]
        cells += [f"{statistics.median(t / m for t, m in zip(best, mine)):.2f}", f"{statistics.median(limits):.2f}" if limits else ""]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--peers", nargs="+", choices=RUNNERS, default=["onnxruntime"])
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 2, 7, 16, 53, 128, 203, 389, 512])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precisions", nargs="+", default=["f32"], help="how dyn keeps the weights of matmuls: f32, bf16, f16, i8")
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=1.0, help="seconds of one slice; three runs at least")
    parser.add_argument("--temp", help="where the ONNX file of 440 MB goes (default: the system's)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve, options.threads[0])
    with tempfile.TemporaryDirectory(dir=options.temp) as folder:
        for threads in options.threads:
            peers = [Peer(name, folder, threads) for name in options.peers]
            if threads == options.threads[0]:
                versions = ", ".join(f"{peer.name} {peer.version}" for peer in peers)
                columns = ["threads", "B", "S", "weights", "dyn ms", *(f"{peer.name} ms" for peer in peers), "ratio to the best", "limit_ratio"]
                print(f"BERT-base, {os.cpu_count()} CPUs; {versions}\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
            for batch in options.batches:
                for length in options.lengths:
                    compare(options, peers, threads, batch, length)
            for peer in peers:
                peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
