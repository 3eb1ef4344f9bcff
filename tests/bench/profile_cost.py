#!/usr/bin/env python3
"""What runs without a profile pay for there being profiles: dynrun of a build from before them against one with them, in turn.

  python3 tests/bench/profile_cost.py BEFORE AFTER [--rounds 30] [--runs 20000]

Prints, for graphs of one group and of many, the fastest time of a run in each program and their ratio, and the ratio of a program to itself
beside it: what the machine adds. Other work on the machine makes times longer and never shorter, so the fastest of many slices is compared.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile


def chain(groups):
    """Small products, one after the other: nearly all of a run is what each group costs beyond its kernel."""
    lines = ["dyn 1", "dim S in 1..64", *(f"weight w{i}: f32[16, 16] = random {i}" for i in range(groups)), "graph chain(x: f32[S, 16]) -> (y: f32[S, 16]) {"]
    for i in range(groups):
        lines.append(f"  {'y' if i == groups - 1 else f'h{i}'} = matmul({'x' if i == 0 else f'h{i - 1}'}, w{i})")
    return "\n".join([*lines, "  return y", "}", ""])


def fastest_us(program, model, runs):
    """The fastest of a slice's percentiles: of few runs that nothing interrupted."""
    command = [program, "bench", str(model), "--dims", "S=1", "--threads", "1", "--iterations", str(runs), "--warmup", "0", "--skip-load", "--percentile", "10", "--format", "json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return rows[0]["p10_ms"] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=20000, help="of the graph of one group, in each slice")
    arguments = parser.parse_args()
    programs = [arguments.before, arguments.after, arguments.before]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("DYN_CACHE_DIR", folder + "/cache")
        print("groups  before us  after us  after/before  before/before")
        for groups in (1, 30):
            model = pathlib.Path(folder) / f"chain{groups}.dyn"
            model.write_text(chain(groups))
            best = [float("inf")] * len(programs)
            for round_ in range(arguments.rounds):
                order = range(len(programs)) if round_ % 2 == 0 else reversed(range(len(programs)))
                for i in order:
                    best[i] = min(best[i], fastest_us(programs[i], model, max(arguments.runs // groups, 100)))
            print(f"{groups:6} {best[0]:10.3f} {best[1]:9.3f} {best[1] / best[0]:13.4f} {best[2] / best[0]:14.4f}", flush=True)


if __name__ == "__main__":
    main()
