#!/usr/bin/env python3
"""Times models in integers and in bf16: dyn beside ONNX Runtime and OpenVINO, on the same files, in alternating slices.

Formats: `dynamic` (ONNX Runtime's quantize_dynamic: MatMulInteger), `static` (its quantize_static: DequantizeLinear and QuantizeLinear around operators, calibrated
on random inputs), `bf16` (the f32 file; dyn with --precision bf16, OpenVINO with its default precision where the CPU has AVX512-BF16; ONNX Runtime computes in f32).
A ratio is the median of the rounds' ratios: the best peer's time over dyn's. The peers' results are not compared with each other here: they round differently.

Models: bert, which is BERT-base by length, or one of compare_cnn.py by size. Weights are random.

Needs, from PyPI: numpy onnx onnxruntime, openvino for that peer, torch and torchvision for convolutional models.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy

import alternating
import compare_bert
import compare_cnn

FORMATS = ["dynamic", "static", "bf16"]


def inputs_of(model, batch, size):
    return compare_bert.inputs_of(batch, size) if model == "bert" else {"image": compare_cnn.image_of([model, batch, size])}


def f32_file(model, folder):
    if model != "bert":
        if not compare_cnn.path_of(model, folder).exists():
            compare_cnn.export(model, folder)
        return compare_cnn.path_of(model, folder)
    path = pathlib.Path(folder) / "bert_base.onnx"
    if not path.exists():
        import onnx
        from bert_onnx import build_onnx

        onnx.save(build_onnx(compare_bert.weights()), path)
    return path


class Calibration:
    """A few inputs, as quantize_static reads them."""

    def __init__(self, model):
        self.inputs = iter([inputs_of(model, 1, size) for size in ([24, 64] if model == "bert" else [224, 224])])

    def get_next(self):
        return next(self.inputs, None)


def model_file(model, form, folder):
    source = f32_file(model, folder)
    path = source.with_name(f"{source.stem}_{form}.onnx")
    if form == "bf16":
        return source
    if not path.exists():
        from onnxruntime.quantization import QuantFormat, quantize_dynamic, quantize_static

        if form == "dynamic":
            quantize_dynamic(source, path)
        else:
            quantize_static(source, path, Calibration(model), quant_format=QuantFormat.QDQ, per_channel=True)
    return path


def onnxruntime_runner(threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3

    def load(path):
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda inputs: session.run(None, inputs)[0]

    return onnxruntime.__version__, load


def openvino_runner(threads):
    import openvino

    core = openvino.Core()

    def load(path):
        request = core.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}).create_infer_request()
        return lambda inputs: request.infer(inputs, share_inputs=True)[0]

    return openvino.__version__.split("-")[0], load


RUNNERS = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}


def serve(name, folder, threads):
    version, load = RUNNERS[name](threads)
    loaded = {}

    def prepare(case):
        model, form, batch, size = case
        path = model_file(model, form, folder)
        if path not in loaded:
            loaded.clear()
            loaded[path] = load(path)
        inputs = inputs_of(model, batch, size)
        return lambda: loaded[path](inputs)

    alternating.serve(version, prepare)


def dims_of(model, batch, size):
    return {"B": batch, "S": size} if model == "bert" else compare_cnn.dims_of([model, batch, size])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--peers", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    parser.add_argument("--models", nargs="+", default=["bert"])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 7, 16, 53, 128, 389], help="lengths, or pixels")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="slices of each side")
    parser.add_argument("--slice", type=float, default=0.5, help="seconds of one slice; three runs at least")
    parser.add_argument("--temp", help="where the files go (default: a folder that is removed)")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*options.serve, options.threads[0])
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.temp or temporary
        for threads in options.threads:
            peers = [alternating.Peer(__file__, name, folder, "--threads", threads) for name in options.peers]
            if threads == options.threads[0]:
                names = [f"{peer.name} {peer.version}" for peer in peers]
                print("| model | format | batch | size | threads | dyn ms | " + " | ".join(f"{name} ms" for name in names) + " | ratio | limit_ratio |")
                print("|---" * (8 + len(names)) + "|", flush=True)
            for model in options.models:
                for form in options.formats:
                    ratios = []
                    for batch in options.batches:
                        for size in options.sizes:
                            path = model_file(model, form, folder)
                            flags = ["--precision", "bf16"] if form == "bf16" else []
                            own = {"dyn": lambda: alternating.dyn_row(options.dynrun, path, dims_of(model, batch, size), threads, options.slice, *flags)}
                            theirs, ours = alternating.measured(peers, [model, form, batch, size], threads, options.rounds, options.slice, own, agreement=None)
                            print("| " + " | ".join(map(str, [model, form, batch, size, threads, *alternating.cells(theirs, ours["dyn"])])) + " |", flush=True)
                            ratios.append(alternating.summary(theirs, ours["dyn"])["ratio"])
                    print(f"\n{model} {form}, {threads} threads: geometric mean {numpy.exp(numpy.mean(numpy.log(ratios))):.2f}, least {min(ratios):.2f}\n", flush=True)
            for peer in peers:
                peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
