#!/usr/bin/env bash
# The Python package of a build folder: tests/python, by pytest.
#
#   bash tests/python/run.sh BUILD_DIR [ARGUMENT for pytest...]
#
# The build folder is configured with what python_options of packages.sh says, as tests/run.sh does. Prints "ok NAME", "failed NAME: why" and "skipped NAME:
# reason" lines. DYN_SEED=N draws the same data again.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
. "$here/packages.sh"
. "$here/../conformance/onnxruntime.sh"
fetch_python_packages "$build" || { echo "skipped python: $python_missing"; exit 0; }
fetch_onnxruntime "$build" || { echo "skipped python: $onnxruntime_missing"; exit 0; }
if ! ls "$build"/python/dyn/_dyn.*.so >/dev/null 2>&1; then
  echo "failed python: $build has no module: cmake $build $(python_options "$build") && cmake --build $build"
  exit 1
fi
export PYTHONPATH=$build/python:$onnxruntime_packages:$python_packages PYTHONDONTWRITEBYTECODE=1
exec python3 -m pytest "$here" -q --tb=short -p no:cacheprovider "$@"
