#!/usr/bin/env bash
# The ONNX project's backend test suite, through dyn: each case that tests/conformance/passes.txt names must pass.
#
#   bash tests/conformance/run.sh BUILD_DIR [--sample N | --update | ARGUMENTS of dyn-conformance...]
#
# --sample N: N of those cases. --update: writes passes.txt and docs/conformance.md from what passes now, whatever they said before: commit both.
# The suite's data come from the package onnx on PyPI, once; they are kept beside BUILD_DIR. DYN_ONNX_DATA: another folder with them, onnx/backend/test/data of an
# installed package. Prints "ok NAME", "failed NAME: ..." and "skipped NAME: reason" lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/conformance
program=$build/tests/dyn-conformance
package=onnx
version=1.16.2
sha256=7b98aa9733bd4b781eb931d33b4078ff2837e7d68062460726d6dd011f332bd4
kept=$(dirname "$build")/onnx-$version
data=${DYN_ONNX_DATA:-$kept/onnx/backend/test/data}

# One wheel, whatever this system's Python: only its data are used.
fetch() {  # into folder
  local folder
  folder=$(mktemp -d "$1-XXXXXX") || return 1
  echo "$package==$version --hash=sha256:$sha256" >"$folder/requirements" &&
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --platform manylinux_2_17_x86_64 \
      --platform manylinux2014_x86_64 --dest "$folder" -r "$folder/requirements" >"$1.log" 2>&1 &&
    python3 -m zipfile -e "$folder"/*.whl "$folder/unpacked" >>"$1.log" 2>&1 &&
    rm -rf "$1" && mv "$folder/unpacked" "$1"
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
  command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 ||
    skip "Python's pip is not installed; scripts/install_packages.sh --tests installs it"
  fetch "$kept" || skip "$package $version cannot be downloaded from PyPI: $(tail -1 "$kept.log")"
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
