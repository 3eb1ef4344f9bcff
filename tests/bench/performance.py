#!/usr/bin/env python3
"""Writes the matmul part of docs/performance.md, and its plots, from the CSV files of `dynrun op`.

    python3 tests/bench/performance.py OUT/*.csv [--docs docs] [--machine TEXT]

Between the lines `<!-- dynrun op: begin -->` and `<!-- dynrun op: end -->` of DOCS/performance.md stand the summary of each suite and state,
the shapes that were lost, and the plots DOCS/limit_ratio_STATE_THREADS.svg: limit_ratio by arithmetic intensity, one dot a shape.
"""

import argparse
import csv
import math
import pathlib
import sys
import textwrap

from samples import geometric_mean, number, percentile

BEGIN, END = "<!-- dynrun op: begin -->", "<!-- dynrun op: end -->"
LOST, NEAR_BEST = 0.95, 0.97
COLORS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#b8860b", "#555555"]


def read(paths):
    rows = []
    for path in paths:
        with open(path, newline="") as file:
            rows += list(csv.DictReader(line for line in file if not line.startswith("#")))
    if not rows:
        raise SystemExit("there are no rows in these files")
    return rows


def peers_of(rows):
    names = []
    for row in rows:
        names += [column for column in row if column.startswith("ratio_") and column != "ratio_best" and column not in names]
    return names


def summary_table(rows):
    peers = peers_of(rows)
    head = ["suite", "state", "threads", "shapes", "limit_ratio", "worst decile"] + [peer.removeprefix("ratio_") for peer in peers]
    head += ["best peer", "at 0.97 or better"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    groups = sorted({(row["suite"], row["state"], int(row["threads"])) for row in rows}, key=lambda key: (key[1] != "warm", key[2], key[0]))
    for state, threads in dict.fromkeys((state, threads) for _, state, threads in groups):
        here = [key[0] for key in groups if key[1:] == (state, threads)]
        for suite in here + (["all"] if len(here) > 1 else []):
            chosen = [row for row in rows if row["state"] == state and int(row["threads"]) == threads and suite in (row["suite"], "all")]
            lines.append(summary_line(suite, state, threads, chosen, peers))
    return "\n".join(lines)


def summary_line(suite, state, threads, rows, peers):
    def values(column):
        return [value for value in (number(row, column) for row in rows) if value]

    def mean(column):
        found = values(column)
        return f"{geometric_mean(found):.3f}" if found else ""

    limits, best = values("limit_ratio"), values("ratio_best")
    cells = [suite, state, str(threads), str(len(rows)), mean("limit_ratio"), f"{percentile(limits, 10):.3f}" if limits else ""]
    cells += [mean(peer) for peer in peers] + [mean("ratio_best")]
    cells.append(f"{100 * sum(value >= NEAR_BEST for value in best) / len(best):.0f} %" if best else "")
    return "| " + " | ".join(cells) + " |"


# Reasons why a shape is lost, in the order in which they are asked; docs/performance.md explains each. A suite that ends in "deepbench" has
# a fresh second operand.
REASONS = [
    ("lanes", lambda m, n, k, row: n < 16),
    ("short K", lambda m, n, k, row: k <= 64),
    ("stage", lambda m, n, k, row: m <= 14 and row["threads"] != "1"),
    ("stream", lambda m, n, k, row: m <= 14),
    ("fresh B", lambda m, n, k, row: row["suite"].endswith("deepbench")),
    ("two row tiles", lambda m, n, k, row: m <= 64),
    ("near the limit", lambda m, n, k, row: (number(row, "limit_ratio") or 0) >= 0.82),
    ("L3", lambda m, n, k, row: True),
]


def reason_of(row):
    sizes = [int(row[name]) for name in ("M", "N", "K")]
    return next(name for name, holds in REASONS if holds(*sizes, row))


def lost_list(rows):
    peers = peers_of(rows)
    lost = sorted((row for row in rows if (number(row, "ratio_best") or 1) < LOST), key=lambda row: float(row["ratio_best"]))
    if not lost:
        return "No shape is below 0.95 of the best peer."
    lines = [f"{len(lost)} of {len(rows)} measurements are below {LOST} of the best peer:", "",
             "| M | N | K | suite | state | threads | ratio | peer | limit_ratio | reason |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in lost:
        peer = min((peer for peer in peers if number(row, peer)), key=lambda peer: float(row[peer])).removeprefix("ratio_")
        limit = f"{float(row['limit_ratio']):.2f}" if row.get("limit_ratio") else ""
        lines.append(f"| {row['M']} | {row['N']} | {row['K']} | {row['suite']} | {row['state']} | {row['threads']} | "
                     f"{float(row['ratio_best']):.2f} | {peer} | {limit} | {reason_of(row)} |")
    return "\n".join(lines)


class Plot:
    """limit_ratio (0 to 1.1) by arithmetic intensity in flop a byte (logarithmic)."""

    WIDTH, HEIGHT, LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT, TOP_RATIO = 760, 400, 60, 40, 660, 300, 1.1

    def __init__(self, title, rows):
        self.rows = [row for row in rows if number(row, "limit_ratio") and number(row, "intensity")]
        exponents = [math.log10(float(row["intensity"])) for row in self.rows]
        self.low, self.high = math.floor(min(exponents)), max(math.ceil(max(exponents)), math.floor(min(exponents)) + 1)
        self.suites = sorted({row["suite"] for row in self.rows})
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.WIDTH} {self.HEIGHT}" font-family="sans-serif" font-size="12">',
                      f'<rect width="{self.WIDTH}" height="{self.HEIGHT}" fill="white"/>',
                      f'<text x="{self.LEFT}" y="22" font-size="14">{title}</text>']

    def x(self, intensity):
        return self.LEFT + (math.log10(intensity) - self.low) / (self.high - self.low) * self.PLOT_WIDTH

    def y(self, ratio):
        return self.TOP + (1 - min(ratio, self.TOP_RATIO) / self.TOP_RATIO) * self.PLOT_HEIGHT

    def axes(self):
        right, bottom = self.LEFT + self.PLOT_WIDTH, self.TOP + self.PLOT_HEIGHT
        for tenth in range(0, 12, 2):
            ratio = tenth / 10
            color = "#888" if ratio == 1 else "#ddd"
            self.parts.append(f'<line x1="{self.LEFT}" y1="{self.y(ratio):.1f}" x2="{right}" y2="{self.y(ratio):.1f}" stroke="{color}"/>')
            self.parts.append(f'<text x="{self.LEFT - 8}" y="{self.y(ratio) + 4:.1f}" text-anchor="end">{ratio:.1f}</text>')
        for exponent in range(self.low, self.high + 1):
            place = self.x(10**exponent)
            self.parts.append(f'<line x1="{place:.1f}" y1="{self.TOP}" x2="{place:.1f}" y2="{bottom}" stroke="#ddd"/>')
            self.parts.append(f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**exponent:g}</text>')
        self.parts.append(f'<text x="{(self.LEFT + right) / 2}" y="{bottom + 38}" text-anchor="middle">flop / byte</text>')

    def text(self):
        self.axes()
        for row in self.rows:
            color = COLORS[self.suites.index(row["suite"]) % len(COLORS)]
            label = f"{row['M']} {row['N']} {row['K']}: {float(row['limit_ratio']):.2f}"
            self.parts.append(f'<circle cx="{self.x(float(row["intensity"])):.1f}" cy="{self.y(float(row["limit_ratio"])):.1f}" r="3" '
                              f'fill="{color}" fill-opacity="0.7"><title>{label}</title></circle>')
        for index, suite in enumerate(self.suites):
            place = self.LEFT + 170 * index
            self.parts.append(f'<circle cx="{place}" cy="{self.HEIGHT - 12}" r="4" fill="{COLORS[index % len(COLORS)]}"/>')
            self.parts.append(f'<text x="{place + 9}" y="{self.HEIGHT - 8}">{suite}</text>')
        return "\n".join(self.parts + ["</svg>", ""])


def write_plots(rows, docs):
    links = []
    for state, threads in sorted({(row["state"], int(row["threads"])) for row in rows}, key=lambda key: (key[0] != "warm", key[1])):
        chosen = [row for row in rows if row["state"] == state and int(row["threads"]) == threads and number(row, "limit_ratio")]
        if not chosen:
            continue
        title = f"limit_ratio, {state}, {threads} thread{'s' if threads > 1 else ''}"
        name = f"limit_ratio_{state}_{threads}.svg"
        (docs / name).write_text(Plot(title, chosen).text())
        links.append(f"![{title}]({name})")
    return "\n\n".join(links)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "docs")
    parser.add_argument("--machine", default="", help="a sentence about the machine, the date and the peers' versions")
    options = parser.parse_args()
    rows = [row for row in read(options.files) if row.get("suite")]
    page = options.docs / "performance.md"
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"{page}: the lines {BEGIN} and {END} must stand there once, in this order")
    parts = ([textwrap.fill(options.machine, 100)] if options.machine else []) + [summary_table(rows), lost_list(rows), write_plots(rows, options.docs)]
    body = "\n\n".join(part for part in parts if part)
    page.write_text(text[: text.index(BEGIN) + len(BEGIN)] + "\n" + body + "\n" + text[text.index(END):])
    return 0


if __name__ == "__main__":
    sys.exit(main())
