"""Every test draws its data from a seed, which is printed, and reports a line as tests/stage.sh reads it."""

import os
import random
import zlib

import numpy
import pytest

SEED = int(os.environ.get("DYN_SEED") or random.randrange(2**31))


@pytest.fixture
def rng(request):
    return numpy.random.default_rng([SEED, zlib.crc32(request.node.nodeid.encode())])


def pytest_report_header():
    return f"DYN_SEED={SEED}"


def pytest_terminal_summary(terminalreporter):
    write = terminalreporter.write_line
    for report in terminalreporter.stats.get("passed", []):
        if report.when == "call":
            write(f"ok {report.nodeid}")
    for state in ("failed", "error"):
        for report in terminalreporter.stats.get(state, []):
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")] or str(report.longrepr).splitlines()[-1:]
            write(f"failed {report.nodeid}: {lines[0][:300] if lines else 'no report'}")
    # A reason is "NAME: why", with a name of tests/skips.txt.
    for report in terminalreporter.stats.get("skipped", []):
        write(f"skipped {report.longrepr[2].removeprefix('Skipped: ')}")
