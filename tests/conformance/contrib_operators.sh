#!/usr/bin/env bash
# Operators of ONNX Runtime's own domain, dyn beside ONNX Runtime: see contrib_operators.py, which gets the arguments after BUILD_DIR.
#
#   bash tests/conformance/contrib_operators.sh BUILD_DIR [--rounds N] [--seed N] [--operators NAME...]
#
# Without arguments: 25 cases of each operator where DYN_TEST_LANE is all, else one, by a seed that is printed (DYN_SEED sets it). What the script needs comes from PyPI, once,
# as for light_models.sh. Prints "ok NAME" for each case that agrees, "failed NAME: why", or "skipped NAME: reason".
set -uo pipefail
. "$(dirname "$0")/random_cases.sh"
begin_random rounds 1 25 "$@"
need_onnxruntime contrib_operators "$build"
with_onnxruntime python3 "$here/contrib_operators.py" --dynrun "$build/bin/dynrun" "${arguments[@]}"
