#!/usr/bin/env python3
"""Writes docs/papers.md: what five papers claim, and the same by dyn.

    python3 tests/bench/papers/make_page.py --measure --dynrun build/release/bin/dynrun --most-shapes 8 --most-gflop 1 --peers onednn
    python3 tests/bench/papers/make_page.py            # writes the page from docs/data/papers
    python3 tests/bench/papers/make_page.py --check    # fails where the page is not what facts and results give

Facts of the papers are in NAME.json, what is measured beside them in workloads.json, raw results in docs/data/papers. --measure runs dynrun and
keeps what it printed in --work, so that a stopped run goes on; results that are there with the same command and sample are not measured
again: delete them first. On described GPUs nothing runs; the emulator counts. All suites in full take hours on a quiet machine.
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
    parser.add_argument("--dynrun", type=pathlib.Path, default=facts.ROOT / "build" / "release" / "bin" / "dynrun")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE, help="the page, with its markers")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="folder of raw results")
    parser.add_argument("--work", type=pathlib.Path, default=facts.ROOT / "build" / "papers", help="folder of what dynrun printed")
    parser.add_argument("--settings", type=lambda text: text.split(","), help="some settings of workloads.json, separated by commas")
    parser.add_argument("--most-shapes", type=int, help="measure this many shapes of each workload, drawn with --seed; default: all")
    parser.add_argument("--most-gflop", type=float, help="leave out measured shapes of more operations")
    parser.add_argument("--most-predicted", type=int, help="predict this many shapes of each workload; default: all")
    parser.add_argument("--most-valid", type=int, help="run this many of the shapes whose validity is counted; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6, help="as of dynrun select and op")
    parser.add_argument("--slice-ms", type=float, default=1, help="as of dynrun select and op")
    parser.add_argument("--peers", help="as of dynrun op; none: no baselines")
    parser.add_argument("--chunk", type=int, default=8, help="measured shapes of one command: what a stopped run loses")
    parser.add_argument("--note", default="", help="what readers should know of the measured figures, such as what else ran")
    options = parser.parse_args()
    if options.check and options.measure:
        parser.error("--check measures nothing")
    return options


def main():
    options = arguments()
    papers, data = facts.load()
    failures = []
    if options.measure:
        unknown = set(options.settings or []) - set(data["settings"])
        if unknown:
            raise facts.BadFacts(f"--settings: there is no {', '.join(sorted(unknown))}; there are {', '.join(data['settings'])}")
        failures = measure.Measurer(options).all(data)
    old = options.page.read_text()
    new = page.with_body(old, page.Page(papers, data, options.results.resolve()).text(), options.page)
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
