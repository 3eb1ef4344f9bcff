#!/usr/bin/env python3
"""Writes docs/papers.md: what five papers claim, and the same by dyn.

    python3 tests/bench/papers/make_page.py --plan --settings cpu-1,cpu-2 --most-shapes 12 --most-gflop 1 --peers onednn
    python3 tests/bench/papers/make_page.py --measure ...    # the same flags
    python3 tests/bench/papers/make_page.py            # writes the page from docs/data/papers
    python3 tests/bench/papers/make_page.py --check    # fails where the page is not what facts and results give

Facts of the papers are in NAME.json, what is measured beside them in workloads.json, which rules of dyn missed what its tuner found in rules.json,
raw results in docs/data/papers. --measure runs dynrun and keeps what it printed in --work, so that a stopped run goes on; results that are there
with the same command and sample are not measured again: delete them first. --plan says what is missing, and how long it takes: by what was
measured with this --work, else by a guess. A sample has a shape of each of --most-shapes strata, small to large. On described GPUs nothing runs;
the emulator counts. All suites in full take hours on a quiet machine. --check fails too where an entry of rules.json is the first that matches
of no problem, in a setting that has results of searches.
"""

import argparse
import difflib
import pathlib
import sys

import facts
import measure
import page

PAGE = facts.ROOT / "docs" / "papers.md"
RESULTS = facts.ROOT / "docs" / "data" / "papers"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page differs")
    parser.add_argument("--measure", action="store_true", help="measure first")
    parser.add_argument("--plan", action="store_true", help="say what --measure would measure, and how long; measure and write nothing")
    parser.add_argument("--dynrun", type=pathlib.Path, default=facts.ROOT / "build" / "release" / "bin" / "dynrun")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE, help="the page, with its markers")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="folder of raw results")
    parser.add_argument("--work", type=pathlib.Path, default=facts.ROOT / "build" / "papers", help="folder of what dynrun printed")
    parser.add_argument("--settings", type=names, help="some settings of workloads.json, separated by commas")
    parser.add_argument("--workloads", type=names, help="measure only these, separated by commas: workloads of workloads.json (all that is measured of each: choices, tuners, libraries, "
                        "counters), its builds and models, papers (their variants), or valid; default: all. The page shows all results that are there")
    parser.add_argument("--most-shapes", type=positive, help="measure this many shapes of each workload and model, drawn with --seed; default: all")
    parser.add_argument("--most-gflop", type=float, help="leave out measured shapes of more operations")
    parser.add_argument("--most-model-gflop", type=float, help="the same of whole models")
    parser.add_argument("--most-predicted", type=positive, help="predict this many shapes of each workload; default: all")
    parser.add_argument("--most-valid", type=positive, help="run this many of the shapes whose validity is counted; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6, help="as of dynrun select and op")
    parser.add_argument("--slice-ms", type=float, default=1, help="as of dynrun select and op")
    parser.add_argument("--tuning-budget", type=positive, default=200, help="micro-kernels that a paper's tuner tries for a suite")
    parser.add_argument("--search-budget", type=not_negative, default=200, help="programs that dyn's tuner tries for each problem of a sample: of --most-shapes and --most-gflop on a CPU, of "
                        "--most-predicted on described GPUs; 0: no searches; default: %(default)s")
    parser.add_argument("--peers", help="as of dynrun op; none: no baselines")
    parser.add_argument("--model-peers", type=names, help="as --peers of compare_bert.py and compare_cnn.py: onnxruntime,pytorch; none: no baselines of whole models")
    parser.add_argument("--python", default=sys.executable, help="the Python that has these")
    parser.add_argument("--chunk", type=int, default=8, help="shapes of one command that measures or searches: what a stopped run loses")
    parser.add_argument("--note", default="", help="what readers should know of the measured figures, such as what else ran")
    options = parser.parse_args()
    if options.check + options.measure + options.plan > 1:
        parser.error("--check, --plan and --measure are one or the other")
    return options


def names(text):
    return text.split(",")


def positive(text):
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is below 1")
    return count


def not_negative(text):
    count = int(text)
    if count < 0:
        raise argparse.ArgumentTypeError(f"{count} is below 0")
    return count


def check_names(asked, known, flag):
    unknown = sorted(set(asked or []) - set(known))
    if unknown:
        raise facts.BadFacts(f"{flag}: there is no {', '.join(unknown)}; there are {', '.join(known)}")


def main():
    options = arguments()
    papers, data = facts.load()
    rules = facts.load_rules(data)
    failures = []
    check_names(options.settings, data["settings"], "--settings")
    measured = [*data["workloads"], *(item["id"] for item in data["build"] + data["models"]), *papers, "valid"]
    check_names(options.workloads, measured, "--workloads")
    if options.plan:
        print(measure.Measurer(options).plan_text(papers, data))
        return 0
    if options.measure:
        failures = measure.Measurer(options).all(papers, data)
    old = options.page.read_text()
    made = page.Page(papers, data, options.results.resolve(), rules)
    new = page.with_body(old, made.text(), options.page)
    idle = made.searches().idle_rules()
    if options.check and idle:
        print("\n".join(idle))
        return 1
    if options.check and new != old:
        difference = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "docs/papers.md", "made now", n=0, lineterm=""))
        print("\n".join(line[:200] for line in difference[:12]))
        print("python3 tests/bench/papers/make_page.py writes docs/papers.md again")
        return 1
    if not options.check:
        options.page.write_text(new)
    for failure in failures:
        print(f"not measured: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except facts.BadFacts as error:
        sys.exit(str(error))
