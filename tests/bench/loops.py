#!/usr/bin/env python3
"""Times kernels without a contraction on data that no cache holds, beside the limit of the machine and PyTorch.

    python3 tests/bench/loops.py measure --build build/release --out rows.csv [--python PYTHON] [--threads 1,2] [--only REGEX] [--run COMMAND]
    python3 tests/bench/loops.py table rows.csv      writes the table of docs/performance_loops.md

Each measurement is a process of its own (through --run, such as a command that waits until the machine is idle): dyn-peak, dyn, PyTorch, dyn, dyn-peak.
The limit is the time that the compulsory bytes need at the rate that dyn-peak reaches, in that process, with arrays of the same size and the
same share of written bytes: between reading, adding (a third is written), copying (half) and filling, seconds per byte are interpolated.
Rates and times are medians, of the two the better one. --python has torch; without it there is no comparison.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "performance_loops.md"
BEGIN, END = "<!-- loops.py: begin -->", "<!-- loops.py: end -->"
COLUMNS = ["kind", "shape", "threads", "ms", "gb_per_s", "limit_gb_per_s", "fraction", "pytorch_ms"]
SECONDS = 0.5


class Kind:
    """One operator at one shape: its .dyn text, the f32 elements that it must read and write, and PyTorch's form of it."""

    def __init__(self, name, shape, inputs, output, body, read, written, torch):
        self.name, self.shape, self.read, self.written, self.torch = name, shape, 4 * read, 4 * written, torch
        self.largest_input = max(4 * product(int(dim) for dim in re.findall(r"\d+", value[3:])) for value in inputs.values())
        ports = ", ".join(f"{key}: {value}" for key, value in inputs.items())
        self.text = f"dyn 1\ngraph g({ports}) -> (y: {output}) {{\n  y = {body}\n  return y\n}}\n"


def of_one(name, m, n, body, torch, inputs=None):
    """An operator from f32[m, n] to as much."""
    ports = {"x": f"f32[{m}, {n}]"} | (inputs or {})
    return Kind(name, f"{m} x {n}", ports, f"f32[{m}, {n}]", body, m * n, m * n, torch)


def reduction(name, dims, axes):
    left = [dim for axis, dim in enumerate(dims) if axis not in axes]
    elements, results = product(dims), product(left)
    listed = ", ".join(map(str, axes))

    def torch(t, x, out):
        t.sum(x, dim=list(axes), out=out)

    return Kind(f"reduce_sum, {name}", " x ".join(map(str, dims)), {"x": f"f32[{', '.join(map(str, dims))}]"}, f"f32[{', '.join(map(str, left))}]",
                f"reduce_sum(x) axes=[{listed}] keepdims=false", elements, results, torch)


def product(values):
    result = 1
    for value in values:
        result *= value
    return result


def layer_norm(m, n):
    def torch(t, x, weight, bias, out):
        t.nn.functional.layer_norm(x, (n,), weight, bias)

    return of_one("layer_norm", m, n, "layer_norm(x, w, b)", torch, {"w": f"f32[{n}]", "b": f"f32[{n}]"})


def concat(name, first, second, axis):
    joined = [first[0] + second[0] if axis == 0 else first[0], first[1] + second[1] if axis == 1 else first[1]]
    shape = f"{first[0]} + {second[0]} x {first[1]}" if axis == 0 else f"{first[0]} x {first[1]} + {second[1]}"
    elements = product(joined)
    return Kind(f"concat, {name}", shape, {"a": f"f32[{first[0]}, {first[1]}]", "b": f"f32[{second[0]}, {second[1]}]"}, f"f32[{joined[0]}, {joined[1]}]",
                f"concat(a, b) axis={axis}", elements, elements, lambda t, a, b, out: t.cat([a, b], dim=axis, out=out))


def transpose(m, n):
    return Kind("transpose", f"{m} x {n}", {"x": f"f32[{m}, {n}]"}, f"f32[{n}, {m}]", "transpose(x) perm=[1, 0]", m * n, m * n,
                lambda t, x, out: out.copy_(x.t()))


def gather(rows, size):
    return Kind("gather of rows", f"{rows} of {4 * size} bytes", {"x": f"f32[{rows}, {size}]", "i": f"i64[{rows}]"}, f"f32[{rows}, {size}]",
                "gather(x, i) axis=0", rows * size + 2 * rows, rows * size, lambda t, x, i, out: t.index_select(x, 0, i, out=out))


def kinds():
    m, n = 8192, 8192
    add = Kind("add", f"{m} x {n}, two inputs", {"a": f"f32[{m}, {n}]", "b": f"f32[{m}, {n}]"}, f"f32[{m}, {n}]", "a + b", 2 * m * n, m * n,
               lambda t, a, b, out: t.add(a, b, out=out))
    pad = Kind("pad", "16000 x 4001 by 1", {"x": "f32[16000, 4001]"}, "f32[16002, 4003]", "pad(x) before=[1, 1] after=[1, 1]", 16000 * 4001,
               16002 * 4003, lambda t, x, out: t.nn.functional.pad(x, (1, 1, 1, 1)))
    return [
        add,
        of_one("exp", 8191, 8193, "exp(x)", lambda t, x, out: t.exp(x, out=out)),
        of_one("relu(x + bias)", 87381, 769, "relu(x + b)", lambda t, x, b, out: t.relu_(t.add(x, b, out=out)), {"b": "f32[769]"}),
        layer_norm(87381, 768),
        layer_norm(16373, 4099),
        of_one("softmax", 16384, 4096, "softmax(x) axis=-1", lambda t, x, out: t.softmax(x, -1, out=out)),
        reduction("inner axis", [16384, 4096], [1]),
        reduction("all", [16384, 4096], [0, 1]),
        reduction("outer axis", [16384, 4096], [0]),
        reduction("outer axis", [2033602, 33], [0]),
        reduction("middle axis", [128, 4096, 128], [1]),
        pad,
        concat("rows", (8000, 4096), (8384, 4096), 0),
        concat("columns", (16384, 2000), (16384, 2096), 1),
        gather(262144, 256),
        transpose(8192, 8192),
        transpose(8191, 8193),
        of_one("gelu", 8192, 8192, "gelu(x)", lambda t, x, out: t.nn.functional.gelu(x)),
    ]


def torch_median(kind, threads):
    import torch

    torch.set_num_threads(threads)
    tensors = {}
    for name, dtype, dims in re.findall(r"(\w+): (f32|i64)\[([\d, ]*)\]", kind.text):
        shape = [int(dim) for dim in dims.split(",") if dim.strip()]
        tensors[name] = torch.randint(0, shape[0], shape) if dtype == "i64" else torch.randn(shape)
    arguments = list(tensors.values())
    samples = []
    with torch.inference_mode():
        kind.torch(torch, *arguments)
        end = time.perf_counter() + SECONDS
        while len(samples) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            kind.torch(torch, *arguments)
            samples.append(time.perf_counter() - start)
    return 1e3 * statistics.median(samples)


def seconds_per_byte(rates, share):
    """The machine's seconds per byte for traffic with this share of written bytes."""
    known = [(0, rates["read"]), (1 / 3, rates["add"]), (1 / 2, rates["copy"]), (1, rates["fill"])]
    for (low, first), (high, second) in zip(known, known[1:]):
        if share <= high:
            weight = (share - low) / (high - low)
            return (1 - weight) / first + weight / second
    raise ValueError(share)


def peak_rates(build, kind, threads):
    size = max(kind.largest_input, kind.written)
    text = subprocess.run([str(build / "bin" / "dyn-peak"), "--threads", str(threads), "--dram", str(size)], check=True, capture_output=True, text=True).stdout
    figures = json.loads(text)["figures"][0]
    return {name: 1e9 * figures[f"dram_{name}_median_gb_per_s"] for name in ("read", "fill", "copy", "add")}


def dyn_median(build, model, threads):
    command = [str(build / "bin" / "dynrun"), "bench", model, "--skip-load", "--threads", str(threads), "--duration", str(SECONDS), "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[0]["median_ms"]


def measure_one(build, kind, threads, python):
    rates = [peak_rates(build, kind, threads)]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.dyn"
        model.write_text(kind.text)
        times = [dyn_median(build, str(model), threads)]
        other = None
        if python:
            command = [python, __file__, "torch", str(index_of(kind)), "--threads", str(threads)]
            other = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        times.append(dyn_median(build, str(model), threads))
    rates.append(peak_rates(build, kind, threads))
    best = {name: max(found[name] for found in rates) for name in rates[0]}
    total = kind.read + kind.written
    limit = total * seconds_per_byte(best, kind.written / total)
    ms = min(times)
    return {"kind": kind.name, "shape": kind.shape, "threads": threads, "ms": f"{ms:.2f}", "gb_per_s": f"{total / ms / 1e6:.1f}",
            "limit_gb_per_s": f"{total / limit / 1e9:.1f}", "fraction": f"{1e3 * limit / ms:.2f}", "pytorch_ms": f"{other:.2f}" if other else ""}


def index_of(kind):
    return [(other.name, other.shape) for other in kinds()].index((kind.name, kind.shape))


def measure(options):
    file = open(options.out, "w", newline="") if options.out else None
    writer = csv.DictWriter(file, COLUMNS) if file else None
    if writer:
        writer.writeheader()
    for position, kind in enumerate(kinds()):
        if not re.search(options.only, f"{kind.name} {kind.shape}"):
            continue
        for threads in options.threads.split(","):
            command = shlex.split(options.run) + [sys.executable, __file__, "one", str(position), "--build", str(options.build), "--threads", threads]
            command += ["--python", options.python] if options.python else []
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{kind.name} {kind.shape}: {done.stderr}")
            row = json.loads(done.stdout)
            print(" | ".join(str(row[column]) for column in COLUMNS), flush=True)
            if writer:
                writer.writerow(row)
                file.flush()


def write_table(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    counts = sorted({int(row["threads"]) for row in rows})
    head = ["operator", "shape"]
    for count in counts:
        head += [f"ms, {count} thread{'s' if count > 1 else ''}", "GB/s", "of the limit", "PyTorch ms"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, shape in dict.fromkeys((row["kind"], row["shape"]) for row in rows):
        cells = [name, shape]
        for count in counts:
            found = [row for row in rows if (row["kind"], row["shape"], int(row["threads"])) == (name, shape, count)]
            cells += [found[0][column] for column in ("ms", "gb_per_s", "fraction", "pytorch_ms")] if found else [""] * 4
        lines.append("| " + " | ".join(cells) + " |")
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        raise SystemExit(f"{PAGE}: the lines {BEGIN} and {END} must stand there, in this order")
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "table", "one", "torch"], help="one and torch: parts of measure")
    parser.add_argument("argument", nargs="?", default="")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"), help="the folder of bin/dynrun and bin/dyn-peak")
    parser.add_argument("--threads", default=",".join(dict.fromkeys(["1", str(os.cpu_count())])))
    parser.add_argument("--only", default="", help="kinds and shapes that match")
    parser.add_argument("--python", default="", help="a Python with torch")
    parser.add_argument("--run", default="", help="a command that each measurement goes through")
    parser.add_argument("--out", default="", help="the file of the rows")
    options = parser.parse_args()
    if options.command == "measure":
        measure(options)
    elif options.command == "table":
        write_table(options.argument)
    elif options.command == "one":
        print(json.dumps(measure_one(options.build, kinds()[int(options.argument)], int(options.threads), options.python)))
    else:
        print(torch_median(kinds()[int(options.argument)], int(options.threads)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
