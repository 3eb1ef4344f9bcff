#!/usr/bin/env python3
"""Draws latency by sequence length, one line for each program, from what compare_bert.py writes.

    python3 tests/bench/compare_bert.py ... --json docs/data/bert_latency.json
    python3 tests/bench/plot_latency.py docs/data/bert_latency.json --threads 2 --out docs/bert_latency.svg

Both axes are logarithmic. Needs the standard library alone.
"""

import argparse
import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

NAMES = {"dyn": "dyn", "onnxruntime": "ONNX Runtime", "pytorch": "PyTorch"}
COLORS = ["#1b6ca8", "#c8553d", "#7a7a7a", "#3a7d44"]
WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 594, 62, 370
TEXT, GRID, FRAME = "#222", "#e4e4e4", "#999"


def powers_of_two(low, high):
    return [2**exponent for exponent in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]


def round_numbers(low, high):
    """1, 2 and 5 times powers of ten; the first is at most `low`, the last at least `high`."""
    every = [factor * 10.0**exponent for exponent in range(-6, 9) for factor in (1, 2, 5)]
    first = max(index for index, value in enumerate(every) if value <= low)
    last = min(index for index, value in enumerate(every) if value >= high)
    return every[first : last + 1]


class LogAxis:
    """A logarithmic axis from the first to the last of its ticks, between two places on the page."""

    def __init__(self, ticks, start, end):
        self.ticks, self.start, self.end = ticks, start, end

    def place(self, value):
        low, high = math.log(self.ticks[0]), math.log(self.ticks[-1])
        return self.start + (math.log(value) - low) / (high - low) * (self.end - self.start)


def lines_of(data, threads, batch, weights):
    """By the name of a program: its points (length, ms), in order of length."""
    rows = [row for row in data["rows"] if (row["threads"], row["B"], row["weights"]) == (threads, batch, weights)]
    if not rows:
        raise SystemExit(f"there is no row for {threads} threads, B = {batch} and weights in {weights}")
    rows.sort(key=lambda row: row["S"])
    return {name: [(row["S"], row["ms"][name]) for row in rows] for name in rows[0]["ms"]}


def text(x, y, words, size=12, anchor="start", color=TEXT, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{more}>{escape(words)}</text>'


def grid(across, up):
    parts = []
    for tick in up.ticks:
        y = up.place(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(text(LEFT - 8, y + 4, f"{tick:g}", anchor="end"))
    for tick in across.ticks:
        x = across.place(tick)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}" stroke="{GRID}"/>')
        parts.append(text(x, BOTTOM + 18, f"{tick:g}", anchor="middle"))
    parts.append(f'<path d="M{LEFT} {TOP} V{BOTTOM} H{RIGHT}" fill="none" stroke="{FRAME}"/>')
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 40, "sequence length, tokens", anchor="middle"))
    middle = (TOP + BOTTOM) / 2
    parts.append(text(18, middle, "time of one run, ms", anchor="middle", more=f' transform="rotate(-90 18 {middle})"'))
    return parts


def curves(lines, versions, across, up):
    """A line with a dot for each measured length, and beside its end the program's name and version."""
    parts = []
    for index, (name, points) in enumerate(lines.items()):
        color = COLORS[index % len(COLORS)]
        places = [(across.place(length), up.place(ms)) for length, ms in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{2.5 if index == 0 else 1.5}"/>')
        for (x, y), (length, ms) in zip(places, points):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"><title>{length} tokens: {ms:g} ms</title></circle>')
    ends = sorted((up.place(points[-1][1]), index, name) for index, (name, points) in enumerate(lines.items()))
    below = -math.inf
    for y, index, name in ends:
        y = max(y, below + 16)
        below = y
        label = " ".join(filter(None, [NAMES.get(name, name), versions.get(name)]))
        parts.append(text(RIGHT + 8, y + 4, label, color=COLORS[index % len(COLORS)], more=' font-weight="bold"' if index == 0 else ""))
    return parts


def svg(data, threads, batch, weights):
    lines = lines_of(data, threads, batch, weights)
    times = [ms for points in lines.values() for _, ms in points]
    lengths = [length for points in lines.values() for length, _ in points]
    across = LogAxis(powers_of_two(min(lengths), max(lengths)), LEFT, RIGHT)
    up = LogAxis(round_numbers(min(times), max(times)), BOTTOM, TOP)
    source = data["source"]
    threads_words = f"{threads} thread{'s' if threads > 1 else ''}"
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            text(LEFT, 24, f"{data['model']}, batch of {batch}, {weights}, {threads_words}", size=15),
            text(LEFT, 44, f"{source['machine']}; {source['date']}; every dot is a measured length", color="#666")]
    return "\n".join([*head, *grid(across, up), *curves(lines, source.get("versions", {}), across, up), "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="a file of compare_bert.py --json")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--weights", default="f32", help="how dyn kept the weights: f32, bf16, f16 or i8")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.out.write_text(svg(json.loads(options.data.read_text()), options.threads, options.batch, options.weights))
    return 0


if __name__ == "__main__":
    sys.exit(main())
