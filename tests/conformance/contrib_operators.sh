#!/usr/bin/env bash
# Operators of ONNX Runtime's own domain, dyn beside ONNX Runtime: see contrib_operators.py, which gets the arguments after BUILD_DIR.
#
#   bash tests/conformance/contrib_operators.sh BUILD_DIR [--rounds N] [--seed N] [--operators NAME...]
#
# Without arguments: 25 cases of each operator where DYN_TEST_LANE is all, else one, by a seed that is printed (DYN_SEED sets it). What the script needs comes from PyPI, once,
# as for light_models.sh. Prints "ok NAME" for each case that agrees, "failed NAME: why", or "skipped NAME: reason".
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
. "$here/onnxruntime.sh"
seed=${DYN_SEED:-$RANDOM}
echo "DYN_SEED=$seed"
rounds=1
[ "${DYN_TEST_LANE:-default}" != all ] || rounds=25
[ $# -gt 0 ] || set -- --rounds $rounds --seed "$seed"
need_onnxruntime contrib_operators "$build"
with_onnxruntime python3 "$here/contrib_operators.py" --dynrun "$build/bin/dynrun" "$@"
