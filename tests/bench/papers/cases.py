"""The shapes of a workload or model, thinned by operations and by a seed, as files and flags for dynrun."""

import itertools
import math
import random

import facts

CONV = "IC IH IW OC KH KW SH SW PT PL PB PR G".split()


class Case:
    """A shape: a line of a suite, values of a model's dims, or a value of a workload's dim. `header` names what stands in the line."""

    def __init__(self, suite, header, line, flops):
        self.suite, self.header, self.line, self.flops = suite, header, line, flops

    def sizes(self):
        """As (name, word), in the order of the line."""
        return list(zip(self.header.split(), self.line.split()))

    def text(self):
        """M=1 N=2"""
        return " ".join(f"{name}={value}" for name, value in self.sizes())


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


def is_values(word):
    return word[0].isdigit()


def expanded(columns, words):
    """The shapes of one line: the product of its columns' values, of which the last varies fastest; =M is the size of column M."""
    choices = [list(map(str, values_of(word))) if is_values(word) else [word] for word in words]
    for chosen in itertools.product(*choices):
        of = dict(zip(columns, chosen))
        yield [of[word[1:]] if word.startswith("=") else word for word in chosen]


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
        for shape in expanded(columns, ([batches] if free else []) + words):
            cases.append(Case(path.stem, " ".join(columns), " ".join(shape), flops_of(columns, shape)))
    return cases


def model_cases(item):
    columns = list(item["dims"])
    shapes = expanded(columns, list(item["dims"].values()))
    return [Case(None, " ".join(columns), " ".join(shape), item["mflop"] * 1e6 * math.prod(map(int, shape))) for shape in shapes]


def all_cases(workload):
    if "dims" in workload:
        return model_cases(workload)
    if "types" in workload:
        def flops(value):
            return math.prod(value if factor == workload["dim"] else int(factor) for factor in workload.get("flops", [1]))
        return [Case(None, workload["dim"], str(value), flops(value)) for value in values_of(workload["values"])]
    return suite_cases(facts.suite_path(workload), workload.get("batches", "1"))


def sample(name, workload, most_shapes, most_gflop, seed):
    """The same for the same arguments; cases stay in their order. Strata of equal counts by operations have one shape each, so that small and large ones are there."""
    whole = all_cases(workload)
    small = [case for case in whole if most_gflop is None or case.flops <= most_gflop * 1e9]
    chosen = range(len(small))
    if most_shapes is not None and most_shapes < len(small):
        order = sorted(chosen, key=lambda index: small[index].flops)
        draw = random.Random(f"{seed} {name}")
        bounds = [len(order) * stratum // most_shapes for stratum in range(most_shapes + 1)]
        chosen = sorted(order[draw.randrange(first, last)] for first, last in itertools.pairwise(bounds))
    return Sample([small[index] for index in chosen], len(whole), len(whole) - len(small))


def counted(workload):
    """The shapes of a suite at which the emulator counts; facts.BadFacts for one that the suite lacks."""
    of = {case.line: case for case in all_cases(workload)}
    missing = [line for line in workload["counted"] if line not in of]
    if missing:
        raise facts.BadFacts(f"workloads.json: the suite {workload['suite']} has no shape {missing[0]}")
    return [of[line] for line in workload["counted"]]


def alike_but_one(cases):
    """Runs of cases that differ in one size at most, which one command can list."""
    runs = []
    for case in cases:
        sizes = case.line.split()
        if runs and len({place for other in runs[-1] for place, (a, b) in enumerate(zip(sizes, other.line.split())) if a != b}) <= 1:
            runs[-1].append(case)
        else:
            runs.append([case])
    return runs


def chunks_of(cases, size):
    """Runs of cases that one command can take: of one suite, at most `size`."""
    chunks = []
    for case in cases:
        if not chunks or len(chunks[-1]) == size or (chunks[-1][0].suite, chunks[-1][0].header) != (case.suite, case.header):
            chunks.append([])
        chunks[-1].append(case)
    return chunks
