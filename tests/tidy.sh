#!/usr/bin/env bash
# clang-tidy 19 (.clang-tidy) over the product's files, each compiled alone: a unit of a whole folder would hide what a file itself includes.
# Prints "ok tidy", "failed tidy: FILE:LINE ..." for each finding or "skipped tidy: reason".
#   bash tests/tidy.sh             those that do not include LLVM, whose headers take longer than all the rest
#   bash tests/tidy.sh FILE...     these
set -uo pipefail
cd "$(dirname "$0")/.."
build=build/tidy
tidy=$(command -v clang-tidy-19 || command -v clang-tidy)
if [ -z "$tidy" ] || ! "$tidy" --version | grep -q 'version 19\.'; then
  echo "skipped tidy: clang-tidy 19 is not installed (scripts/install_packages.sh --tests)"
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A database of single files. The Python package is in it where its own packages can be had.
. tests/python/packages.sh
python=$(python_options "$build")
if ! cmake --preset debug -B "$build" -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DDYN_TESTS=OFF -DDYN_EXAMPLES=OFF $python >"$log" 2>&1; then
  tail -30 "$log"
  echo "failed tidy: $build cannot be configured"
  exit 1
fi
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find graph src targets/host targets/reference targets/vendor -name '*.cpp' |
  if [[ $python == *DYN_PYTHON=ON* ]]; then cat; else grep -v ^src/python/; fi | LC_ALL=C sort)
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 "$tidy" -p "$build" --quiet >"$log" 2>&1
code=$?
findings=$(grep -E ': (warning|error): ' "$log" | sed "s|$PWD/||" | LC_ALL=C sort -u)
if [ -n "$findings" ]; then
  sed 's/^/failed tidy: /' <<<"$findings"
  exit 1
elif [ $code -ne 0 ]; then
  tail -30 "$log"
  echo "failed tidy: clang-tidy ended with $code"
  exit 1
fi
echo "ok tidy: ${#files[@]} files"
