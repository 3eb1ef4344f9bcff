"""The shapes of a workload, thinned by operations and by a seed, as files and flags for dynrun."""

import math
import random

import facts

CONV = "IC IH IW OC KH KW SH SW PT PL PB PR G".split()


class Case:
    """A shape: a line of a suite (`header` names its columns), or a value of a workload's dim."""

    def __init__(self, suite, header, line, flops):
        self.suite, self.header, self.line, self.flops = suite, header, line, flops


class Sample:
    """What is left of a workload: `cases` of `whole`; `left_out` have too many operations."""

    def __init__(self, cases, whole, left_out):
        self.cases, self.whole, self.left_out = cases, whole, left_out


def values_of(text):
    """As dynrun reads them: 1,2 and 1..9+2 and 1..64*2."""
    values = []
    for part in text.split(","):
        if ".." not in part:
            values.append(int(part))
            continue
        first, rest = part.split("..")
        last, step = (rest + "+1" if not set(rest) & set("+*") else rest), None
        sign = "*" if "*" in last else "+"
        last, step = last.split(sign)
        value = int(first)
        while value <= int(last):
            values.append(value)
            value = value * int(step) if sign == "*" else value + int(step)
    return values


def flops_of(columns, words):
    """A multiplication and an addition for each output and step of the reduction."""
    of = {column: int(word) for column, word in zip(columns, words) if word.lstrip("-").isdigit()}
    if "KH" not in of:
        return 2 * math.prod(value for column, value in of.items() if column not in ("TA", "TB"))
    height = (of["IH"] + of["PT"] + of["PB"] - of["KH"]) // of["SH"] + 1
    width = (of["IW"] + of["PL"] + of["PR"] - of["KW"]) // of["SW"] + 1
    return 2 * of.get("N", 1) * height * width * of["OC"] * of["KH"] * of["KW"] * of["IC"] // of["G"]


def suite_cases(path, batches):
    columns, cases = None, []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if columns is None:
            columns = words
            free = columns == CONV
            if free:
                columns = ["N"] + columns
            continue
        for batch in batches if free else [None]:
            full = ([str(batch)] if free else []) + words
            cases.append(Case(path.stem, " ".join(columns), " ".join(full), flops_of(columns, full)))
    return cases


def all_cases(workload):
    if "types" in workload:
        def flops(value):
            return math.prod(value if factor == workload["dim"] else int(factor) for factor in workload.get("flops", [1]))
        return [Case(None, workload["dim"], str(value), flops(value)) for value in values_of(workload["values"])]
    batches = values_of(workload.get("batches", "1"))
    return [case for path in facts.suite_files(workload) for case in suite_cases(path, batches)]


def sample(name, workload, most_shapes, most_gflop, seed):
    """The same for the same arguments; cases stay in their order."""
    whole = all_cases(workload)
    small = [case for case in whole if most_gflop is None or case.flops <= most_gflop * 1e9]
    chosen = range(len(small))
    if most_shapes is not None and most_shapes < len(small):
        chosen = sorted(random.Random(f"{seed} {name}").sample(chosen, most_shapes))
    return Sample([small[index] for index in chosen], len(whole), len(whole) - len(small))


def chunks_of(cases, size):
    """Runs of cases that one command can take: of one suite, at most `size`."""
    chunks = []
    for case in cases:
        if not chunks or len(chunks[-1]) == size or (chunks[-1][0].suite, chunks[-1][0].header) != (case.suite, case.header):
            chunks.append([])
        chunks[-1].append(case)
    return chunks
