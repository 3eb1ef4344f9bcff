#!/usr/bin/env bash
# Random graphs of ONNX operators, dyn beside ONNX Runtime: see random_graphs.py.
#
#   bash tests/conformance/random_graphs.sh BUILD_DIR [--graphs N] [--seed N]
#
# Without arguments: 1,500 graphs where DYN_TEST_LANE is all, else 40. Prints "ok NAME" for each graph that agrees at all of its sizes, "failed NAME: why", or
# "skipped NAME: reason".
set -uo pipefail
. "$(dirname "$0")/random_cases.sh"
compare_random random_graphs graphs 40 1500 "$@"
