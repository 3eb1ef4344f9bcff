#!/usr/bin/env python3
"""Load time against the number of nodes, for families of generated graphs.

    python3 tests/bench/load_time.py DYNRUN [--nodes 1000,4000,16000,64000] [--family NAME] [--limit SECONDS]

Prints a line for each family: seconds by the number of nodes, nothing cached, and the exponent of the power that fits best (1: linear).
A size that takes more than the limit (default 120 s) is shown as more, and larger ones are left out.
"""

import argparse
import math
import pathlib
import subprocess
import tempfile


def steps(count, step):
    """step(i, v, w) gives the lines that make value w of value v; the first v is x. All lines, and the name of the last value."""
    names = ["x"] + [f"v{i + 1}" for i in range(count)]
    return [line for i in range(count) for line in step(i, names[i], names[i + 1])], names[-1]


def chain(n):
    return "x: f32[N]", "f32[N]", *steps(n, lambda i, v, w: [f"  {w} = {v} * {1.25 if i % 2 else 0.8}"])


def reuse(n):
    """Each value is read twice by what makes the next."""
    return "x: f32[N]", "f32[N]", *steps(n // 3, lambda i, v, w: [f"  {w} = {v} + tanh({v}) * 0.01"])


def fan(n):
    """One value with many readers, whose results are added up as a tree."""
    leaves = [f"a{i}" for i in range(n // 2)]
    lines = [f"  a{i} = sin(x * {1 + i / n})" for i in range(n // 4)]
    leaves = leaves[: n // 4]
    level = 0
    while len(leaves) > 1:
        sums = []
        for i in range(0, len(leaves) - 1, 2):
            lines.append(f"  s{level}_{i} = {leaves[i]} + {leaves[i + 1]}")
            sums.append(f"s{level}_{i}")
        leaves = sums + (leaves[-1:] if len(leaves) % 2 else [])
        level += 1
    return "x: f32[N]", "f32[N]", lines, leaves[0]


def norms(n):
    """Reductions, each of which all later ones wait for."""
    return "x: f32[N, 8]", "f32[N, 8]", *steps(n // 3, lambda i, v, w: [f"  {w} = {v} - reduce_mean({v}) axes=[1] * 0.5"])


def layers(n):
    """Small dense layers with a residual, as in a deep network."""
    return "x: f32[N, 8], w: f32[8, 8], b: f32[8]", "f32[N, 8]", *steps(n // 4, lambda i, v, w: [f"  {w} = {v} + relu(matmul({v}, w) + b) * 0.1"])


def moves(n):
    """Transposes, slices and concats in turn: each step turns the tensor by one column."""
    return "x: f32[N, 8]", "f32[N, 8]", *steps(n // 5, lambda i, v, w: [
        f"  t{i} = transpose({v}) perm=[1, 0]",
        f"  c{i} = concat(slice(t{i}) axes=[0] starts=[1] ends=[8], slice(t{i}) axes=[0] starts=[0] ends=[1]) axis=0",
        f"  {w} = transpose(c{i}) perm=[1, 0]"])


FAMILIES = {"chain": chain, "reuse": reuse, "fan": fan, "norms": norms, "layers": layers, "moves": moves}


def text_of(family, nodes):
    parameters, result, lines, last = FAMILIES[family](nodes)
    return f"dyn 1\ndim N in 1..1000\ngraph g({parameters}) -> (y: {result}) {{\n" + "\n".join(lines) + f"\n  y = {last} * 1.5\n  return y\n}}\n"


def load_seconds(dynrun, path, limit):
    """From the report of a load; nothing where it takes too long."""
    command = [dynrun, "bench", path, "--load-only", "--skip-load", "--cache-dir", "none", "--format", "csv"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    row = dict(zip(lines[0].split(","), lines[1].split(",")))
    return float(row["total_ms"]) / 1e3


def exponent(points):
    xs, ys = [math.log(n) for n, _ in points], [math.log(s) for _, s in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dynrun")
    parser.add_argument("--nodes", default="1000,4000,16000,64000")
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--limit", type=float, default=120)
    options = parser.parse_args()
    sizes = [int(n) for n in options.nodes.split(",")]
    print("| family | " + " | ".join(f"{n} nodes, s" for n in sizes) + " | exponent |")
    print("|" + "---|" * (len(sizes) + 2))
    with tempfile.TemporaryDirectory() as folder:
        for family in [options.family] if options.family else FAMILIES:
            points, cells = [], []
            for nodes in sizes:
                path = pathlib.Path(folder) / f"{family}.dyn"
                path.write_text(text_of(family, nodes))
                seconds = None if "more" in cells else load_seconds(options.dynrun, path, options.limit)
                cells.append("more" if seconds is None else f"{seconds:.2f}")
                if seconds is not None:
                    points.append((nodes, seconds))
            fitted = f"{exponent(points):.2f}" if len(points) > 1 else "-"
            print(f"| {family} | " + " | ".join(cells) + f" | {fitted} |", flush=True)


if __name__ == "__main__":
    main()
