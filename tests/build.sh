#!/usr/bin/env bash
# Builds targets of a preset, as a stage of the tests: prints "ok TARGETS", or "failed PRESET: ..." with the compiler's errors.
#
#   bash tests/build.sh PRESET TARGET...
set -uo pipefail
cd "$(dirname "$0")/.."
preset=${1:?PRESET}
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if cmake --preset "$preset" -DDYN_WERROR=ON -DDYN_TESTS=ON >"$log" 2>&1 && cmake --build "build/$preset" --target "$@" >"$log" 2>&1; then
  echo "ok build of $preset: $*"
else
  grep -hE -A4 'error:|CMake Error|FAILED:' "$log" | head -60
  echo "failed build of $preset: see above"
  exit 1
fi
