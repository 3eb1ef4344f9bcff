#!/usr/bin/env python3
"""Models of transformers and torchvision as ONNX files, with seeded random weights, for compare_models.py.

  export_models.py FOLDER [--models bert swin] [--seed 1] [--exporter torch.export]

Writes FOLDER/NAME.onnx, and FOLDER/NAME.json, which says how its inputs are drawn. Each has the structure that its library gives it, in small: few layers, narrow ones.
Batch, length, past, height and width are dynamic wherever the model's own code takes any. --exporter: torch.onnx.export by tracing (opset 17, the default), or through
torch.export (opset 18). Needs, from PyPI: torch, torchvision, transformers, onnx, onnxscript and numpy.
"""
import argparse
import dataclasses
import inspect
import json
import pathlib
import sys
import warnings

import numpy
import onnx
import torch
from image_models import image_models
from specification import draw
from text_models import text_models


def randomize(module, seed):
    """Weights by which activations keep their variance, factors around 1, small biases; of batch norms also random figures."""
    random = torch.Generator().manual_seed(seed)

    def uniform(tensor, low, high):
        tensor.copy_(torch.rand(tensor.shape, generator=random) * (high - low) + low)

    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if not tensor.is_floating_point() or "inv_freq" in name:
                continue
            if name.endswith("running_var") or (tensor.dim() == 1 and name.endswith("weight")):
                uniform(tensor, 0.5, 1.5)
            elif "layer_scale" in name:
                uniform(tensor, 0.5, 1.5)
            else:
                # A product's inputs are all dims but the first; of an embedding, whose elements are taken alone, that is small enough not to drown what it is added to.
                fan = tensor[0].numel() if tensor.dim() > 1 else 100
                tensor.copy_(torch.randn(tensor.shape, generator=random) / fan**0.5)
    return module.eval()


def calibrate(module, inputs):
    """Batch norms' figures as the inputs give them, without which activations shrink or grow from layer to layer until outputs depend on nothing."""
    norms = [each for each in module.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
        norm.train()
    if norms:
        with torch.no_grad():
            module(*inputs)
    return module.eval()


def dynamic_axes(spec):
    axes = {each.name: {place: dim for place, dim in enumerate(each.shape) if isinstance(dim, str)} for each in spec.inputs}
    for name in spec.outputs:
        axes[name] = spec.output_axes.get(name, {0: "B", 1: "S"} if "S" in spec.dims else {0: "B"})
    return axes


def dynamic_shapes(spec, module):
    """As torch.export takes them: those of `*rest` are one tuple."""
    shapes = tuple({place: torch.export.Dim.DYNAMIC for place, dim in enumerate(each.shape) if isinstance(dim, str)} for each in spec.inputs)
    kinds = [each.kind for each in inspect.signature(module.forward).parameters.values()]
    alone = sum(kind != inspect.Parameter.VAR_POSITIONAL for kind in kinds)
    return shapes[:alone] + ((shapes[alone:],) if alone < len(kinds) else ())


def export(spec, folder, seed, exporter):
    module = randomize(spec.build(), seed)
    example = {name: dim.example for name, dim in spec.dims.items()}
    random = numpy.random.default_rng(seed)
    inputs = tuple(torch.from_numpy(draw(each, example, random)) for each in spec.inputs)
    calibrate(module, tuple(torch.from_numpy(draw(each, {name: dim.greatest for name, dim in spec.dims.items()}, random)) for each in spec.inputs))
    file = folder / f"{spec.name}.onnx"
    names = {"input_names": [each.name for each in spec.inputs], "output_names": spec.outputs}
    if exporter == "torch.export":
        torch.onnx.export(module, inputs, str(file), opset_version=18, dynamo=True, verbose=False, external_data=False, dynamic_shapes=dynamic_shapes(spec, module), **names)
    else:
        torch.onnx.export(module, inputs, str(file), opset_version=17, dynamo=False, dynamic_axes=dynamic_axes(spec), **names)
    model = onnx.load(file)
    described = {"dims": {name: [dim.least, dim.greatest, dim.step] for name, dim in spec.dims.items()}, "inputs": [dataclasses.asdict(each) for each in spec.inputs],
                 "outputs": spec.outputs, "exporter": exporter, "opset": model.opset_import[0].version, "note": spec.note}
    (folder / f"{spec.name}.json").write_text(json.dumps(described, indent=1))
    return f"{file.stat().st_size / 1e6:.1f} MB, {len(model.graph.node)} nodes"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exporter", choices=["tracing", "torch.export"], default="tracing")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    good = True
    for spec in [*text_models(), *image_models()]:
        if arguments.models and spec.name not in arguments.models:
            continue
        try:
            print(f"ok {spec.name}: {export(spec, arguments.folder, arguments.seed, arguments.exporter)}", flush=True)
        except Exception as error:  # whatever goes wrong with one model, the others are exported
            print(f"failed {spec.name}: {type(error).__name__}: {' '.join(str(error).split())[:600]}", flush=True)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
