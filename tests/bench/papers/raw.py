"""Raw results: CSV files below a head of `# key=value` lines. One file holds one kind of result of one workload in one setting."""

import csv
import io
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import facts  # noqa: E402
from samples import number  # noqa: E402

POLICIES = ["dyn", "vortex", "mikpoly", "ftuner", "tscompiler", "dietcode", "vendor"]
OF_PAPERS = POLICIES[1:6]
HEAD = ["date", "machine", "revision", "command", "sample", "peers", "note", "failed"]


class Raw:
    def __init__(self, head, rows):
        self.head, self.rows = head, rows

    def text(self):
        out = io.StringIO()
        for key in HEAD:
            if self.head.get(key):
                out.write(f"# {key}={self.head[key]}\n")
        writer = csv.DictWriter(out, list(self.rows[0]) if self.rows else ["shape"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()


def parse(text):
    head, lines = {}, []
    for line in text.splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition("=")
            head[key] = value
        else:
            lines.append(line)
    return Raw(head, list(csv.DictReader(lines)))


def path_of(folder, setting, workload, kind):
    return folder / f"{setting}.{workload}.{kind}.csv"


def read(folder, setting, workload, kind):
    """None where it was not measured."""
    path = path_of(folder, setting, workload, kind)
    return parse(path.read_text()) if path.exists() else None


def shortened(value):
    return f"{float(value):.4g}" if value else ""


def choices(text):
    """What `dynrun select --format csv` printed, as one row a shape: for each policy the time of its choice, the number of programs that it
    considered, and the time to choose. Programs in words are left out: they are most of the bytes."""
    rows, last = [], None
    for line in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        shape = line["shape"].rsplit("threads=", 1)[0].strip()
        if last is None or line["policy"] in last:
            last = {}
            rows.append({"shape": shape})
        last[line["policy"]] = line
        row, name = rows[-1], line["policy"]
        row[f"{name}_ns"] = shortened(line["measured_ns"])
        row[f"{name}_programs"] = line["candidates"]
        if name != "oracle":
            row[f"{name}_choose_ns"] = shortened(line["choose_ns"])
    return rows


def peers(text):
    """What `dynrun op --peers ... --format csv` printed: the ratio of each peer's time to dyn's, one row a shape."""
    skipped = {"op", "suite", "threads", "device", "state", "median_ms", "p95_ms", "gflops", "gb_per_s", "intensity", "limit_ms", "limit_ratio", "ratio_best"}
    rows = []
    for line in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        row = {"shape": " ".join(f"{name}={value}" for name, value in line.items() if name not in skipped and not name.startswith("ratio_") and value)}
        row["dyn_ms"] = shortened(line["median_ms"])
        row |= {name: shortened(value) for name, value in line.items() if name.startswith("ratio_") and name != "ratio_best"}
        rows.append(row)
    return rows


def searches(text):
    """What `dynrun tune --format csv` printed for policy dyn: one row a problem."""
    rows = []
    for line in csv.DictReader(text.splitlines()):
        figures = {name: shortened(line[name]) for name in ("seconds", "dyn_us", "best_us", "dyn_over_best")}
        rows.append({"problem": line["problem"], "tried": line["tried"]} | figures | {name: line[name] for name in ("kept", "dyn", "best")})
    return rows


def search_gain(row, place):
    """dyn's time over the tuned best: at least 1 where no program was worth keeping, as then dyn's own is the best. facts.BadFacts for a search without a figure."""
    value = number(row, "dyn_over_best")
    if value is None:
        raise facts.BadFacts(f"{place}: {row['problem']} was tried {row['tried']} times without an end: delete the file and measure again")
    return value if row["kept"] == "yes" else max(1.0, value)


class PolicySums:
    """One policy over the shapes of one file of choices. `ratios`: the oracle's time over the policy's."""

    def __init__(self, rows, policy):
        def column(name):
            return [value for value in (number(row, f"{policy}_{name}") for row in rows) if value is not None]
        pairs = [(number(row, "oracle_ns"), number(row, f"{policy}_ns")) for row in rows]
        self.shapes = sum(oracle is not None for oracle, _ in pairs)
        self.ratios = [oracle / own for oracle, own in pairs if oracle and own]
        self.valid = len(self.ratios)
        self.programs = [value for value in column("programs") if value]
        self.choose_ns = column("choose_ns")
