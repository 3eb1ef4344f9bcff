#!/usr/bin/env python3
"""Exported models at random shapes: dyn beside ONNX Runtime.

  models/export_models.py FOLDER
  compare_models.py --dynrun build/release/bin/dynrun FOLDER [--models bert swin] [--shapes 10] [--seed 1] [--threads N] [--device emulator]
  compare_models.py --self-test

Each model of FOLDER runs in both at random sizes of its dims, the first all least, the second all greatest (the others of any), on random inputs. No element of any output
may differ by more than 1e-4 of the greatest magnitude of that output in the reference. A reference that hardly varies, over its elements or with other inputs, proves
nothing: comparing with it is an error. Prints a Markdown table; the exit code is 1 where something differs, fails or was refused. --self-test: no dynrun is needed; shows
that flat references, differing outputs and wrong shapes are noticed.

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent / "models"))
from specification import draw, random_dims  # noqa: E402

TOLERANCE = 1e-4
LEAST_SPREAD = 1e-3  # standard deviation, and change with other inputs, over the greatest magnitude


class FlatReference(Exception):
    pass


def refuse_flat(reference, other):
    """other: the reference's output for other inputs of the same shapes."""
    if not numpy.isfinite(reference).all():
        raise FlatReference("the reference is not finite")
    greatest = numpy.abs(reference).max()
    if reference.size > 1 and not reference.std() > LEAST_SPREAD * greatest:
        raise FlatReference(f"the reference's standard deviation is {reference.std():.2g}, with {greatest:.2g} as its greatest magnitude")
    change = numpy.abs(reference - other).max()
    if not change > LEAST_SPREAD * greatest:
        raise FlatReference(f"other inputs change the reference by {change:.2g}, with {greatest:.2g} as its greatest magnitude")


def relative_difference(actual, reference, other):
    """The largest difference over the reference's greatest magnitude; infinite where a value is not finite."""
    if actual.shape != reference.shape:
        raise RuntimeError(f"shape {list(actual.shape)} instead of {list(reference.shape)}")
    reference, other = reference.astype(numpy.float64), other.astype(numpy.float64)
    refuse_flat(reference, other)
    difference = numpy.abs(actual.astype(numpy.float64) - reference).max() / numpy.abs(reference).max()
    return float(difference) if numpy.isfinite(difference) else numpy.inf


class Pair:
    def __init__(self, arguments, name, scratch):
        import onnxruntime
        self.arguments, self.scratch = arguments, scratch
        self.file = arguments.folder / f"{name}.onnx"
        self.described = json.loads((arguments.folder / f"{name}.json").read_text())
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(self.file), options, providers=["CPUExecutionProvider"])

    def inputs(self, dims, random):
        return {each["name"]: draw(each, dims, random) for each in self.described["inputs"]}

    def command(self, verb, *more):
        command = [str(self.arguments.dynrun), verb, str(self.file), "--format", "json", "--weight-cache", "0", *more]
        if self.arguments.threads:
            command += ["--threads", str(self.arguments.threads)]
        if self.arguments.device:
            command += ["--device", self.arguments.device]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(" ".join((done.stderr or f"exit code {done.returncode}").split()))
        return done.stdout

    def dyn(self, inputs):
        loads = []
        for index, (name, value) in enumerate(inputs.items()):
            numpy.save(self.scratch / f"{index}.npy", value)
            loads += ["--load-inputs", f"{name}={self.scratch / f'{index}.npy'}"]
        self.command("run", *loads, "--save-outputs", str(self.scratch / "outputs"))
        return [numpy.load(self.scratch / "outputs" / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}.npy") for name in self.described["outputs"]]

    def decided_at_load(self):
        """Whether an import writes the whole graph: it does not where values of inputs decide its structure."""
        command = [str(self.arguments.dynrun), "import", str(self.file), "-o", str(self.scratch / "model.dyn")]
        return subprocess.run(command, capture_output=True).returncode == 0

    def load_times(self):
        """Seconds with nothing cached, and with all cached; the machine is measured once, apart from that."""
        with tempfile.TemporaryDirectory() as cache:
            times = [json.loads(self.command("bench", "--load-only", "--cache-dir", cache))[0] for _ in range(2)]
        return [each["total_ms"] / 1000 for each in times]

    def compare(self, dims, seed):
        random = numpy.random.default_rng(seed)
        inputs = self.inputs(dims, random)
        outputs = self.described["outputs"]
        references, others = self.session.run(outputs, inputs), self.session.run(outputs, self.inputs(dims, random))
        actual = self.dyn(inputs)
        return max(relative_difference(*each) for each in zip(actual, references, others))


def load_cells(pair, failures):
    try:
        cold, cached = pair.load_times()
        return ["yes" if pair.decided_at_load() else "no", f"{cold:.2f} s", f"{cached:.2f} s"]
    except RuntimeError as error:
        failures.append(f"load: {str(error)[:400]}")
        return ["", "", ""]


def check_model(arguments, name):
    """A row of the table, and whether all is well."""
    worst, failures, shapes = 0.0, [], []
    with tempfile.TemporaryDirectory() as scratch:
        pair = Pair(arguments, name, pathlib.Path(scratch))
        for index, dims in enumerate(random_dims(pair.described["dims"], arguments.shapes, arguments.seed)):
            text = " ".join(f"{dim}={value}" for dim, value in dims.items())
            shapes.append(text)
            try:
                difference = pair.compare(dims, [arguments.seed, index])
                worst = max(worst, difference)
                if difference > TOLERANCE:
                    failures.append(f"{text}: {difference:.1e}")
            except (RuntimeError, FlatReference) as error:
                failures.append(f"{text}: {str(error)[:400]}")
        cells = load_cells(pair, failures)
    described = pair.described
    row = [name, f"{described['exporter']}, {described['opset']}", ", ".join(described["dims"]), str(len(shapes)), f"{worst:.1e}", "no" if failures else "yes", *cells]
    print(f"| {' | '.join(row)} |", flush=True)
    for failure in failures:
        print(f"failed {name}: {failure}", file=sys.stderr)
    return not failures


def self_test():
    random = numpy.random.default_rng(1)
    good, other = random.standard_normal((2, 3, 40)).astype(numpy.float32)
    wrong = good.copy()
    wrong[1, 7] += numpy.float32(3 * TOLERANCE * numpy.abs(good).max())
    missing = good.copy()
    missing[2, 9] = numpy.nan
    flat = (5 + 1e-7 * good).astype(numpy.float32)

    def raises(kind, *each):
        try:
            relative_difference(*each)
        except kind:
            return True
        return False

    checks = {
        "the same is equal": relative_difference(good, good, other) == 0,
        "one element beyond the tolerance is noticed": relative_difference(wrong, good, other) > TOLERANCE,
        "one element that is no number is noticed": relative_difference(missing, good, other) > TOLERANCE,
        "another shape is noticed": raises(RuntimeError, good[:, :39], good, other),
        "a broadcast shape is noticed": raises(RuntimeError, good[:1], good, other),
        "a flat reference is refused": raises(FlatReference, flat, flat, other),
        "a constant reference is refused": raises(FlatReference, 0 * good, 0 * good, other),
        "a reference that other inputs leave is refused": raises(FlatReference, good, good, good),
        "a reference that is not finite is refused": raises(FlatReference, missing, missing, other),
    }
    for name, holds in checks.items():
        print(f"{'ok' if holds else 'failed'} compare_models.self_test: {name}")
    return all(checks.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--dynrun", type=pathlib.Path)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--shapes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--device", help="of dynrun: cuda or emulator")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return 0 if self_test() else 1
    if not arguments.folder or not arguments.dynrun:
        parser.error("the folder and --dynrun are needed")
    names = arguments.models or sorted(file.stem for file in arguments.folder.glob("*.json"))
    print("| model | exporter, opset | free dims | shapes | worst relative difference | within 1e-4 | structure known at load | load | cached |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    return 0 if all([check_model(arguments, name) for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main())
