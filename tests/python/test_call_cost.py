"""The measurement of a call's cost runs, and each of its ways gives the sum. How long it takes is no test's matter."""

import json
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).parents[1] / "bench/call_cost.py"


def test_every_way_is_measured(tmp_path):
    ended = subprocess.run(
        [sys.executable, BENCH, "--rounds", "1", "--calls", "20", "--json", tmp_path / "cost.json"], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    measured = json.loads((tmp_path / "cost.json").read_text())["microseconds"]
    for name in ("dyn Graph.run", "dyn Call.run", "dyn InferenceSession.run", "ONNX Runtime InferenceSession.run", "ONNX Runtime run_with_iobinding"):
        assert measured[name] > 0
