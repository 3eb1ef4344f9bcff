#!/usr/bin/env python3
"""Compares the models of examples/models with PyTorch.

For each model: random asymmetric weights go into a safetensors file and into the model of the same name from
`transformers`; then both run at random shapes, and max |difference| / max |expected| must stay within a bound.

Needs, from PyPI: torch transformers safetensors numpy. BERT-large needs 3 GB of memory and 1.4 GB on disk.
"""

import argparse
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers
from safetensors.numpy import save_file

from model_weights import random_weights

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BOUND = 1e-4


def bert(**sizes):
    config = transformers.BertConfig(attn_implementation="eager", **sizes)
    return transformers.BertModel(config, add_pooling_layer=False)


def albert():
    config = transformers.AlbertConfig(
        hidden_size=768, num_attention_heads=12, intermediate_size=3072, hidden_act="gelu_new",
        attn_implementation="eager")
    return transformers.AlbertModel(config, add_pooling_layer=False)


def distilbert():
    return transformers.DistilBertModel(transformers.DistilBertConfig(attn_implementation="eager"))


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager"))


BERT_LARGE = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)

# By name of the .dyn file: how to make the peer, the number of words, the longest text, the inputs of both sides by
# dyn's name, and the prefix that the peer puts before the names of the weights.
MODELS = {
    "bert_base": (bert, 30522, 512, {"ids": "input_ids", "type_ids": "token_type_ids", "mask": "attention_mask"}, ""),
    "bert_large": (lambda: bert(**BERT_LARGE), 30522, 512,
                   {"ids": "input_ids", "type_ids": "token_type_ids", "mask": "attention_mask"}, ""),
    "distilbert": (distilbert, 30522, 512, {"ids": "input_ids", "mask": "attention_mask"}, ""),
    "albert": (albert, 30000, 512, {"ids": "input_ids", "type_ids": "token_type_ids", "mask": "attention_mask"}, ""),
    "gpt2": (gpt2, 50257, 1024, {"ids": "input_ids"}, "transformer."),
    "gpt2_cached": (gpt2, 50257, 1024, {"ids": "input_ids"}, "transformer."),
}


def fill_peer(peer, weights, prefix):
    """Copies the weights into the peer; every parameter of the peer must get one, and every weight be used."""
    linear = {f"{name}.weight" for name, part in peer.named_modules() if isinstance(part, torch.nn.Linear)}
    missing = []
    used = set()
    with torch.no_grad():
        for name, parameter in peer.named_parameters():
            key = name.removeprefix(prefix)
            if key not in weights:
                missing.append(name)
                continue
            value = torch.from_numpy(weights[key])
            parameter.copy_(value.T if name in linear else value)
            used.add(key)
    left = sorted(set(weights) - used)
    if missing or left:
        raise SystemExit(f"names differ: the peer alone has {missing[:5]}, the .dyn file alone has {left[:5]}")


def random_shapes(count, longest, most_tokens, random):
    """(B, S): short and long texts alike; B * S stays within `most_tokens`."""
    shapes = []
    for _ in range(count):
        length = int(round(math.exp(random.uniform(0, math.log(longest)))))
        batch = int(random.integers(1, max(1, min(8, most_tokens // length)) + 1))
        shapes.append((batch, length))
    return shapes


def random_inputs(names, words, shape, random):
    batch, length = shape
    kept = random.integers(1, length + 1, size=(batch, 1))
    every = {
        "ids": random.integers(0, words, size=shape, dtype=numpy.int64),
        "type_ids": random.integers(0, 2, size=shape, dtype=numpy.int64),
        "mask": (numpy.arange(length)[None, :] < kept).astype(numpy.float32),
    }
    return {name: every[name] for name in names}


def run_dyn(dynrun, model, inputs, folder, threads):
    command = [dynrun, "run", str(model), "--threads", str(threads), "--save-outputs", str(folder)]
    for name, values in inputs.items():
        path = folder / f"{name}.npy"
        numpy.save(path, values)
        command += ["--load-inputs", f"{name}={path}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return {path.stem: numpy.load(path) for path in folder.glob("*.npy") if path.stem not in inputs}


def run_peer(peer, names, inputs):
    arguments = {names[name]: torch.from_numpy(values.astype(numpy.int64)) for name, values in inputs.items()}
    with torch.no_grad():
        result = peer(**arguments)
    return (result.logits if hasattr(result, "logits") else result.last_hidden_state).numpy()


def compare(name, options, folder):
    make, words, longest, names, prefix = MODELS[name]
    random = numpy.random.default_rng([options.seed, sorted(MODELS).index(name)])
    source = SOURCE / "examples" / "models" / f"{name}.dyn"
    model = pathlib.Path(shutil.copy(source, folder))
    weights = random_weights(source.read_text(), random)
    save_file(weights, folder / re.search(r'^weights "(.*)"', source.read_text(), re.MULTILINE).group(1))
    peer = make().eval()
    fill_peer(peer, weights, prefix)
    worst = 0.0
    for shape in random_shapes(options.shapes, longest, options.tokens, random):
        inputs = random_inputs(names, words, shape, random)
        expected = run_peer(peer, names, inputs)
        outputs_folder = folder / "outputs"
        outputs_folder.mkdir(exist_ok=True)
        (actual,) = run_dyn(options.dynrun, model, inputs, outputs_folder, options.threads).values()
        shutil.rmtree(outputs_folder)
        if actual.shape != expected.shape:
            raise SystemExit(f"{name} at {shape}: shape {actual.shape}, expected {expected.shape}")
        ratio = float(numpy.abs(actual - expected).max() / numpy.abs(expected).max())
        if not ratio <= worst:  # A NaN must win.
            worst = ratio
        verdict = "ok" if ratio <= BOUND else "WRONG"
        print(f"| {name} | {shape[0]} | {shape[1]} | {numpy.abs(expected).max():.3g} | {ratio:.2e} | {verdict} |",
              flush=True)
    return worst <= BOUND


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--shapes", type=int, default=20, help="shapes for each model")
    parser.add_argument("--tokens", type=int, default=1024, help="the most that B * S may be")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--temp", help="where weight files of up to 1.4 GB go (default: the system's)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, seed {options.seed}")
    print("| model | B | S | max of expected | max difference / max expected | |\n|---|---|---|---|---|---|")
    good = True
    for name in options.models:
        with tempfile.TemporaryDirectory(dir=options.temp) as folder:
            good = compare(name, options, pathlib.Path(folder)) and good
    print("all within" if good else "NOT all within", BOUND)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
