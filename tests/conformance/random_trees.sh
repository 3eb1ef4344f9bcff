#!/usr/bin/env bash
# Random models of classical machine learning, dyn beside ONNX Runtime: see random_trees.py.
#
#   bash tests/conformance/random_trees.sh BUILD_DIR [--models N] [--seed N]
#
# Without arguments: 2,000 models where DYN_TEST_LANE is all, else 100, by a seed that is printed (DYN_SEED sets it). What the script needs comes from PyPI, once, as for
# light_models.sh. Prints "ok NAME" for each model that agrees for all numbers of rows, "failed NAME: why", or "skipped NAME: reason".
set -uo pipefail
. "$(dirname "$0")/random_cases.sh"
compare_random random_trees models 100 2000 "$@"
