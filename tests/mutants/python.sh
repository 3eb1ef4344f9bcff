#!/usr/bin/env bash
# Breaks the Python package on purpose, one mutant at a time, and checks that the named test of tests/python notices.
#
#   bash tests/mutants/python.sh BUILD_DIR [NAME...]
#
# A mutant is a file python/NAME.sed here, with comments as those of run.sh: what it breaks, `file` and `test` (as `pytest -k` takes it). The tree and BUILD_DIR,
# which must have the package, stay as they are: of the module only the unit that holds the file is compiled again, from an edited copy. Prints "ok NAME",
# "failed NAME: reason" or "skipped python: reason".
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/mutants/python
. "$root/tests/python/packages.sh"
. "$root/tests/conformance/onnxruntime.sh"
fetch_python_packages "$build" || { echo "skipped python: $python_missing"; exit 0; }
fetch_onnxruntime "$build" || { echo "skipped python: $onnxruntime_missing"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/dyn-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(for mutant in "$here"/*.sed; do basename "$mutant" .sed; done)
module=$(cd "$build" && ls python/dyn/_dyn.*.so) || { echo "failed mutants.python: $build has no module"; exit 1; }

field() { sed -nE "s/^# $2: //p" "$here/$1.sed"; }
command_for() { ninja -C "$build" -t commands "$1" 2>/dev/null | tail -1 | sed -E 's/^: && //; s/ && :$//; s/ -MD -MT [^ ]+ -MF [^ ]+//; s/ -Werror / /'; }

# The module with an edited copy of one of its files, in a folder of its own.
rebuild() {  # folder, file
  local folder=$1 file=$2 unit object command
  unit=$(grep -lF "\"$root/$file\"" "$build"/CMakeFiles/_dyn.dir/Unity/*.cxx) || return 1
  object=${unit#"$build"/}.o
  sed "s|\"$root/$file\"|\"$folder/tree/$file\"|" "$unit" >"$folder/unit.cxx"
  command=$(command_for "$object")
  command=${command/ -o $object/ -o $folder/unit.o -iquote $folder/tree -O1}
  command=${command/ -c $unit/ -c $folder/unit.cxx}
  (cd "$build" && eval "$command") || return 1
  command=$(command_for "$module")
  command=${command/ $object / $folder/unit.o }
  command=${command/ -o $module/ -o $folder/$module}
  (cd "$build" && eval "$command")
}

# A mutant may crash, which the shell would report.
passes() {  # folder of the package, test
  {
    DYN_CACHE_DIR=$work/cache DYN_SEED=1 PYTHONPATH=$1:$onnxruntime_packages:$python_packages PYTHONDONTWRITEBYTECODE=1 \
      timeout 300 python3 -m pytest "$root/tests/python" -q -x -p no:cacheprovider -k "$2" >"$work/log" 2>&1
  } 2>/dev/null
}

try_mutant() {  # name
  local name=$1 folder=$work/$1 file test
  file=$(field "$name" file) test=$(field "$name" test)
  mkdir -p "$folder/tree/$(dirname "$file")" "$folder/python/dyn"
  sed -f "$here/$name.sed" "$root/$file" >"$folder/tree/$file"
  if cmp -s "$folder/tree/$file" "$root/$file"; then echo "failed $name: its edit finds nothing in $file"; return 1; fi
  if ! passes "$build/python" "$test"; then echo "failed $name: there is no test '$test', or it fails without the mutant as well"; return 1; fi
  ln -s "$build"/python/dyn/* "$folder/python/dyn/"
  if [[ $file == *.py ]]; then
    ln -sf "$folder/tree/$file" "$folder/python/dyn/$(basename "$file")"
  else
    rm "$folder/$module"
    rebuild "$folder" "$file" >"$work/log" 2>&1 || { echo "failed $name: it does not build: $(grep -m1 error "$work/log")"; return 1; }
  fi
  if passes "$folder/python" "$test"; then echo "failed $name: '$test' did not notice"; return 1; fi
  echo "ok $name"
  rm -rf "$folder"
}

failures=0
for name in "${names[@]}"; do try_mutant "$name" || failures=$((failures + 1)); done
exit $((failures > 0))
