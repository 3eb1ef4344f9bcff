#!/usr/bin/env python3
"""What the models of real_models.py cost before they run steadily, dyn beside ONNX Runtime.

  start_up.py load FOLDER --dynrun PROGRAM      until a model can run: with nothing compiled, with everything in the cache directory, and until there is a session
  start_up.py fresh FOLDER --dynrun PROGRAM     the first call at the largest case, after the smallest one ran
  start_up.py memory FOLDER --dynrun PROGRAM    the process's peak at the largest case, everything in the cache directory; ONNX Runtime's includes Python and numpy

[--models NAME ...] [--threads 1 2] [--rounds 3]: the best of that many processes each.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import real_models


def output_of(command):
    """What it prints; None, and its last line of errors, where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return (done.stdout, "") if done.returncode == 0 else (None, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:100])


def own(*words):
    return [sys.executable, "-W", "ignore", __file__, *words]


# Until a model can run.

def session_milliseconds(path, threads):
    import onnxruntime  # noqa: F401  (its own start is no part of it)
    began = time.perf_counter()
    real_models.session_of(path, threads)
    return (time.perf_counter() - began) * 1e3


def load(arguments, model, threads):
    path = real_models.path_of(arguments.folder, model)
    cold, cached, theirs = [], [], []
    for _ in range(arguments.rounds):
        theirs.append(float(output_of(own("--session", path, threads))[0]))
        with tempfile.TemporaryDirectory() as scratch:
            # What was measured of the machine is there, as after the first model.
            for file in (pathlib.Path.home() / ".cache/dyn").glob("*.json"):
                shutil.copy(file, scratch)
            for rows in (cold, cached):
                text, why = output_of([arguments.dynrun, "bench", path, "--load-only", "--format", "json", "--threads", threads, "--cache-dir", scratch])
                if text is None:
                    return None, why
                rows.append(json.loads(text)[0])
    first, later = (min(rows, key=lambda row: row["total_ms"]) for rows in (cold, cached))
    cells = [f"{first['total_ms']:.0f}", f"{later['total_ms']:.1f}", f"{first['compiled']} of {first['kernels']}", f"{min(theirs):.1f}"]
    return cells, min(theirs) / first["total_ms"]


# The first call at a new shape.

def session_fresh(folder, name, threads):
    model = next(model for model in real_models.all_models() if model["name"] == name)
    session = real_models.session_of(real_models.path_of(folder, model), threads)
    small, large = (real_models.inputs_of(model, case) for case in (0, len(model["cases"]) - 1))
    for _ in range(5):
        session.run(None, small)
    began = time.perf_counter()
    session.run(None, large)
    return (time.perf_counter() - began) * 1e3


def shapes_of(model, case):
    return ",".join(f"{name}={'x'.join(map(str, array.shape))}" for name, array in real_models.inputs_of(model, case).items())


def fresh(arguments, model, threads):
    if len(model["cases"]) < 2:
        return None, "one case"
    path = real_models.path_of(arguments.folder, model)
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        theirs.append(float(output_of(own("--fresh", arguments.folder, model["name"], threads))[0]))
        command = [arguments.dynrun, "bench", path, "--skip-load", "--format", "json", "--threads", threads, "--duration", "0.1", "--warmup", "0.1"]
        for case in (0, len(model["cases"]) - 1):
            command += ["--shapes", shapes_of(model, case)]
        text, why = output_of(command)
        if text is None:
            return None, why
        ours.append(json.loads(text)[1]["first_ms"])
    return [f"{min(ours):.3f}", f"{min(theirs):.3f}"], min(theirs) / min(ours)


# The process's peak.

def peak_megabytes(command):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return usage.ru_maxrss / 1e3 if status == 0 else None


def run_session(folder, name, threads):
    model = next(model for model in real_models.all_models() if model["name"] == name)
    real_models.session_of(real_models.path_of(folder, model), threads).run(None, real_models.inputs_of(model, len(model["cases"]) - 1))
    return 0


def memory(arguments, model, threads):
    with tempfile.TemporaryDirectory() as scratch:
        given = real_models.input_arguments(real_models.inputs_of(model, len(model["cases"]) - 1), pathlib.Path(scratch))
        command = [arguments.dynrun, "run", real_models.path_of(arguments.folder, model), "--threads", threads, *given]
        ours = [peak_megabytes(command) for _ in range(1 + arguments.rounds)][1:]
    theirs = [peak_megabytes(own("--peak", arguments.folder, model["name"], threads)) for _ in range(arguments.rounds)]
    if None in ours + theirs:
        return None, "did not run"
    return [f"{min(ours):.0f}", f"{min(theirs):.0f}"], min(theirs) / min(ours)


HEADS = {
    load: "dyn ms, nothing compiled | cached | functions compiled | ONNX Runtime ms",
    fresh: "dyn ms | ONNX Runtime ms",
    memory: "dyn MB | ONNX Runtime MB",
}


def table(arguments, measure, models):
    columns = HEADS[measure].count("|") + 1
    print(f"| model | threads | {HEADS[measure]} | ratio |\n|{'---|' * (columns + 3)}", flush=True)
    for threads in arguments.threads:
        ratios = []
        for model in models:
            cells, result = measure(arguments, model, threads)
            if cells is None:
                print(f"note: {model['name']}: {result}", flush=True)
                continue
            ratios.append(result)
            print(f"| {model['name']} | {threads} | {' | '.join(cells)} | {result:.2f} |", flush=True)
        print(f"\n{threads} threads: geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}, {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} at 1 or above\n", flush=True)


def main():
    inner = {"--session": session_milliseconds, "--fresh": session_fresh, "--peak": run_session}
    if sys.argv[1:2] and sys.argv[1] in inner:
        words = sys.argv[2:-1]
        words[0] = pathlib.Path(words[0])
        print(inner[sys.argv[1]](*words, int(sys.argv[-1])))
        return
    arguments = real_models.parser_of(__doc__, ["load", "fresh", "memory"], 3).parse_args()
    table(arguments, {"load": load, "fresh": fresh, "memory": memory}[arguments.command], real_models.chosen(arguments))


if __name__ == "__main__":
    main()
