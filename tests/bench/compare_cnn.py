#!/usr/bin/env python3
"""Times CNNs in dyn beside ONNX Runtime, OpenVINO and PyTorch, in alternating slices, and prints the ratios.

The models are torchvision's, with seeded random weights, exported to ONNX with every dim dynamic that the architecture leaves open: batch, and height and width but in
VGG and AlexNet. dyn, ONNX Runtime and OpenVINO read the same file. All sides run in processes of their own, on the CPU, at the same threads, in f32: ONNX Runtime with
all of its optimisations, OpenVINO for latency, PyTorch in eager mode, in the faster of its two memory formats. Before timing, the peers' outputs are compared with each other, and dyn's with
ONNX Runtime's. A ratio is the median of the rounds' ratios: the best peer's time over dyn's.

Needs, from PyPI: numpy onnx onnxruntime torch torchvision, and openvino for that peer.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

import alternating

ANY_SIZE = ["resnet18", "resnet50", "googlenet", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2_x1_0"]
MODELS = [*ANY_SIZE, "vgg11", "vgg19", "alexnet"]
PLAIN_SIZE = 224


def torch_model(name):
    """Weights of every layer as their initialisation draws them, and statistics of batches that are no identity."""
    import torch
    import torchvision

    torch.manual_seed(1)
    options = {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **options).eval()
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.running_mean, -0.1, 0.1)
            torch.nn.init.uniform_(layer.running_var, 0.5, 2)
            torch.nn.init.uniform_(layer.weight, 0.5, 1.5)
            torch.nn.init.uniform_(layer.bias, -0.1, 0.1)
    return model


def path_of(name, folder):
    return pathlib.Path(folder) / f"{name}.onnx"


def export(name, folder):
    import torch

    axes = {0: "N", 2: "H", 3: "W"} if name in ANY_SIZE else {0: "N"}
    path = path_of(name, folder)
    torch.onnx.export(torch_model(name), (torch.zeros(2, 3, PLAIN_SIZE, PLAIN_SIZE),), path, input_names=["image"], output_names=["scores"],
                      dynamic_axes={"image": axes, "scores": {0: "N"}}, opset_version=17, dynamo=False)


def image_of(case):
    _, batch, size = case
    return numpy.random.default_rng(batch * 1000 + size).standard_normal((batch, 3, size, size), dtype=numpy.float32)


def onnxruntime_runner(folder, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    sessions = {}

    def prepare(case):
        if case[0] not in sessions:
            sessions.clear()
            sessions[case[0]] = onnxruntime.InferenceSession(path_of(case[0], folder), options, providers=["CPUExecutionProvider"])
        image = image_of(case)
        return lambda: sessions[case[0]].run(None, {"image": image})[0]

    return onnxruntime.__version__, prepare


def openvino_runner(folder, threads):
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    core = openvino.Core()
    requests = {}

    def prepare(case):
        if case[0] not in requests:
            requests.clear()
            requests[case[0]] = core.compile_model(path_of(case[0], folder), "CPU", settings).create_infer_request()
        image = image_of(case)
        return lambda: requests[case[0]].infer({"image": image}, share_inputs=True)["scores"]

    return openvino.__version__.split("-")[0], prepare


def pytorch_runner(memory_format):
    def runner(_, threads):
        import torch

        torch.set_num_threads(threads)
        models = {}

        @torch.inference_mode()
        def run(model, image):
            return model(image).numpy()

        def prepare(case):
            layout = getattr(torch, memory_format)
            if case[0] not in models:
                models.clear()
                models[case[0]] = torch_model(case[0]).to(memory_format=layout)
            image = torch.from_numpy(image_of(case)).to(memory_format=layout)
            return lambda: run(models[case[0]], image)

        return torch.__version__, prepare

    return runner


RUNNERS = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner, "pytorch": pytorch_runner("contiguous_format"), "pytorch_nhwc": pytorch_runner("channels_last")}


def dims_of(case):
    name, batch, size = case
    return {"N": batch, "H": size, "W": size} if name in ANY_SIZE else {"N": batch}


def check_dyn(options, case, folder):
    import onnxruntime

    session = onnxruntime.InferenceSession(path_of(case[0], folder), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"image": image_of(case)})[0].astype(numpy.float64)
    numpy.save(pathlib.Path(folder) / "image.npy", image_of(case))
    command = [options.dynrun, "run", path_of(case[0], folder), "--load-inputs", f"image={folder}/image.npy", "--save-outputs", f"{folder}/outputs"]
    subprocess.run(command, check=True, capture_output=True)
    worst = numpy.abs(numpy.load(f"{folder}/outputs/scores.npy") - expected).max() / numpy.abs(expected).max()
    if not worst < 1e-4 or expected.std() < 1e-6 * numpy.abs(expected).max():
        raise SystemExit(f"{case}: dyn differs from ONNX Runtime by {worst} of the largest magnitude, or its output does not vary")


def compare(options, peers, threads, case, folder):
    own = {"dyn": lambda: alternating.dyn_row(options.dynrun, path_of(case[0], folder), dims_of(case), threads, options.slice)}
    theirs, ours = alternating.measured(peers, case, threads, options.rounds, options.slice, own)
    print("| " + " | ".join(map(str, [threads, *case, *alternating.cells(theirs, ours["dyn"])])) + " |", flush=True)
    name, batch, size = case
    return {"threads": threads, "model": name, "N": batch, "H": size, "W": size, **alternating.summary(theirs, ours["dyn"])}


def cases_of(options):
    for name in options.models:
        for size in [*([] if options.only_sizes else [PLAIN_SIZE]), *(options.sizes if name in ANY_SIZE else [])]:
            for batch in options.batches:
                yield [name, batch, size]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[name for name in MODELS if name not in ("resnet18", "vgg11")])
    parser.add_argument("--peers", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--sizes", type=int, nargs="*", default=[160, 317], help="heights and widths besides 224, where the model takes them")
    parser.add_argument("--only-sizes", action="store_true", help="leave out 224")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to this file as well")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=1.0, help="seconds of one slice; three runs at least")
    parser.add_argument("--temp", help="where the ONNX files of 1 GB go; those that are there are used (default: a folder of the system's, removed)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return alternating.serve(*RUNNERS[options.serve[0]](options.serve[1], options.threads[0]))
    rows, versions = [], {}
    with tempfile.TemporaryDirectory() as system:
        folder = options.temp or system
        for name in options.models:
            if not path_of(name, folder).exists():
                export(name, folder)
            check_dyn(options, [name, 2, 160 if name in ANY_SIZE else PLAIN_SIZE], folder)
        for threads in options.threads:
            peers = [alternating.Peer(__file__, name, folder, "--threads", threads) for name in options.peers]
            if threads == options.threads[0]:
                versions = ", ".join(f"{peer.name} {peer.version}" for peer in peers)
                columns = ["threads", "model", "N", "H = W", "dyn ms", *(f"{peer.name} ms" for peer in peers), "ratio to the best", "limit_ratio"]
                print(f"{os.cpu_count()} CPUs; {versions}\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
            versions = {peer.name: peer.version for peer in peers}
            rows += [compare(options, peers, threads, case, folder) for case in cases_of(options)]
            for peer in peers:
                peer.close()
    if options.json:
        options.json.write_text(json.dumps({"versions": versions, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
