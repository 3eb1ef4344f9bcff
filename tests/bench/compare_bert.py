#!/usr/bin/env python3
"""Times BERT-base or BERT-large in dyn beside ONNX Runtime and PyTorch, in alternating slices, and prints the ratios.

All sides run in processes of their own, on the CPU, at the same threads, with the same random weights; ONNX Runtime with all of
its optimisations, PyTorch in eager mode with its fused attention. Before timing, the peers' outputs are compared with each other.
A ratio is the median of the rounds' ratios: the peer's time over dyn's. With --json the same rows also go to a file, of which plot_latency.py
makes a picture.

Needs, from PyPI: numpy, onnx and onnxruntime, or torch.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import tempfile

import numpy

import alternating

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from model_weights import random_weights  # noqa: E402

MODELS = {"bert_base": "BERT-base", "bert_large": "BERT-large"}
WORDS = 30522


def model_path(model):
    return SOURCE / "examples" / "models" / f"{model}.dyn"


def weights(model):
    return random_weights(model_path(model).read_text(), numpy.random.default_rng(1))


def onnxruntime_runner(model, folder, threads):
    import onnx
    import onnxruntime
    from bert_onnx import build_onnx

    path = pathlib.Path(folder) / f"{model}.onnx"
    if not path.exists():
        onnx.save(build_onnx(weights(model)), path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnxruntime.__version__, lambda inputs: session.run(None, inputs)[0]


def pytorch_runner(model, _, threads):
    import torch
    from bert_torch import TorchBert

    torch.set_num_threads(threads)
    bert = TorchBert(weights(model))
    return torch.__version__, lambda inputs: bert(**inputs).numpy()


RUNNERS = {"onnxruntime": onnxruntime_runner, "pytorch": pytorch_runner}


def inputs_of(batch, length):
    random = numpy.random.default_rng(batch * 1000 + length)
    return {"ids": random.integers(0, WORDS, (batch, length)), "type_ids": random.integers(0, 2, (batch, length)),
            "mask": numpy.ones((batch, length), numpy.float32)}


def serve(name, folder, model, threads):
    version, run = RUNNERS[name](model, folder, threads)

    def prepare(case):
        inputs = inputs_of(*case)
        return lambda: run(inputs)

    alternating.serve(version, prepare)


def compare(options, peers, threads, batch, length):
    def flags_of(precision):
        kept, separator, _ = precision.partition("-weights")
        return ["--weights", kept] if separator else ["--precision", precision]

    def dyn(precision):
        return lambda: alternating.dyn_row(options.dynrun, model_path(options.model), {"B": batch, "S": length}, threads, options.slice, "--random-weights", *flags_of(precision))

    theirs, ours = alternating.measured(peers, [batch, length], threads, options.rounds, options.slice, {precision: dyn(precision) for precision in options.precisions})
    for precision, rows in ours.items():
        print("| " + " | ".join(map(str, [threads, batch, length, precision, *alternating.cells(theirs, rows)])) + " |", flush=True)
    return [{"threads": threads, "B": batch, "S": length, "weights": precision, **rounded(alternating.summary(theirs, rows))} for precision, rows in ours.items()]


def rounded(value):
    """As the table has it: two digits behind the point."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return None if value is None else round(value, 2)


def cpu_name():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "a CPU")


def write_json(path, model, machine, versions, rows):
    """One line for each row, so that two files can be compared."""
    source = {"date": f"{datetime.date.today():%-d %B %Y}", "machine": machine or f"{os.cpu_count()} CPUs, {cpu_name()}", "versions": versions}
    lines = ",\n".join(map(json.dumps, rows))
    path.write_text(f'{{\n"model": "{MODELS[model]}",\n"source": {json.dumps(source)},\n"rows": [\n{lines}\n]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--model", choices=MODELS, default="bert_base")
    parser.add_argument("--peers", nargs="+", choices=RUNNERS, default=["onnxruntime"])
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 2, 7, 16, 53, 128, 203, 389, 512])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precisions", nargs="+", default=["f32"], help="what dyn multiplies in: f32, bf16; or how it keeps weights: bf16-weights, f16-weights, i8-weights")
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=1.0, help="seconds of one slice; three runs at least")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file as well, after each one")
    parser.add_argument("--machine", help="what the file calls this machine (default: its CPUs)")
    parser.add_argument("--temp", help="where the ONNX file of 440 MB, or 1.3 GB, goes; one that is there is used (default: a folder of the system's, removed)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve, options.model, options.threads[0])
    rows = []
    with tempfile.TemporaryDirectory() as system:
        folder = options.temp or system
        for threads in options.threads:
            peers = [alternating.Peer(__file__, name, folder, "--model", options.model, "--threads", threads) for name in options.peers]
            if threads == options.threads[0]:
                versions = ", ".join(f"{peer.name} {peer.version}" for peer in peers)
                columns = ["threads", "B", "S", "weights", "dyn ms", *(f"{peer.name} ms" for peer in peers), "ratio to the best", "limit_ratio"]
                print(f"{MODELS[options.model]}, {os.cpu_count()} CPUs; {versions}\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
            for batch in options.batches:
                for length in options.lengths:
                    rows += compare(options, peers, threads, batch, length)
                    if options.json:
                        write_json(options.json, options.model, options.machine, {peer.name: peer.version for peer in peers}, rows)
            for peer in peers:
                peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
