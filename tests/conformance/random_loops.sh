#!/usr/bin/env bash
# Random graphs with loops, dyn beside ONNX Runtime: see random_loops.py.
#
#   bash tests/conformance/random_loops.sh BUILD_DIR [--graphs N] [--seed N]
#
# Without arguments: 600 graphs where DYN_TEST_LANE is all, else 25. Prints "ok NAME" for each graph that agrees at all of its sizes, "failed NAME: why", or
# "skipped NAME: reason".
set -uo pipefail
. "$(dirname "$0")/random_cases.sh"
compare_random random_loops graphs 25 600 "$@"
