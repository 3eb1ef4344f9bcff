#!/usr/bin/env bash
# The ONNX project's backend test suite, through dyn: each case that tests/conformance/passes.txt names must pass.
#
#   bash tests/conformance/run.sh BUILD_DIR [--sample N | --update | ARGUMENTS of dyn-conformance...]
#
# --sample N: N of those cases. --update: writes passes.txt and docs/conformance.md from what passes now, whatever they said before: commit both.
# The suite's data are made by the package onnx from PyPI, once; they are kept beside BUILD_DIR. DYN_ONNX_DATA: another folder with them. Prints "ok NAME",
# "failed NAME: ..." and "skipped NAME: reason" lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/conformance
program=$build/tests/dyn-conformance
. "$here/onnxruntime.sh"
kept=$(dirname "$build")/onnx-$onnx_version
data=${DYN_ONNX_DATA:-$kept}

make_data() {  # into folder
  local folder
  folder=$(mktemp -d "$1-XXXXXX") || return 1
  with_onnxruntime python3 "$here/node_cases.py" "$folder" >"$1.log" 2>&1 && rm -rf "$1" && mv -T "$folder" "$1"
  local status=$?
  rm -rf "$folder"
  return $status
}

# The document is of this baseline: both are written at once.
check_document() {
  local documented named
  documented=$(sed -nE 's/^\| ([0-9]+ \| ){5}([0-9]+) \| [0-9.]+ % .*/\2/p' "$root/docs/conformance.md")
  named=$(grep -vc '^#' "$here/passes.txt")
  if [ "$documented" = "$named" ]; then
    echo "ok docs/conformance.md"
  else
    echo "failed docs/conformance.md: it says that ${documented:-no} cases pass, passes.txt names $named; write both with --update"
    return 1
  fi
}

skip() {
  echo "skipped conformance: $1"
  check_document
  exit
}

[ -x "$program" ] || { echo "failed conformance: $program was not built"; exit 1; }
if [ ! -d "$data/node" ]; then
  fetch_onnxruntime "$build" || skip "$onnxruntime_missing"
  make_data "$kept" || { echo "failed conformance: the suite's data cannot be made: $(tail -1 "$kept.log")"; exit 1; }
fi

case ${1:-} in
  --update) set -- --write "$root/docs/conformance.md" --write-baseline "$here/passes.txt" "${@:2}" ;;
  *) set -- --baseline "$here/passes.txt" "$@" ;;
esac
start=$SECONDS
"$program" --data "$data" "$@"
status=$?
echo "note: in $((SECONDS - start)) s"
check_document || status=1
exit $status
