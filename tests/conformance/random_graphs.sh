#!/usr/bin/env bash
# Random graphs of ONNX operators, dyn beside ONNX Runtime: see random_graphs.py.
#
#   bash tests/conformance/random_graphs.sh BUILD_DIR [--graphs N] [--seed N]
#
# Without arguments: 1,500 graphs where DYN_TEST_LANE is all, else 40, by a seed that is printed (DYN_SEED sets it). What the script needs comes from PyPI, once, as for
# light_models.sh. Prints "ok NAME" for each graph that agrees at all of its sizes, "failed NAME: why", or "skipped NAME: reason".
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
. "$here/onnxruntime.sh"
seed=${DYN_SEED:-$RANDOM}
echo "DYN_SEED=$seed"
graphs=40
[ "${DYN_TEST_LANE:-default}" != all ] || graphs=1500
[ $# -gt 0 ] || set -- --graphs $graphs --seed "$seed"
random_cases random_graphs "$build" "$here/random_graphs.py" "$@"
