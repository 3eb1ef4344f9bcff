#!/usr/bin/env bash
# Breaks dyn on purpose, one mutant at a time, and checks that the named test notices.
#
#   bash tests/mutants/run.sh [--jobs N] [--temp DIR] [NAME...]
#
# A mutant is a file NAME.sed here: an edit of one source file, and comments that say what it breaks, which file,
# which test program must be built, and which of its test cases must fail. Works on a copy; the tree stays as it is.
# Prints "ok NAME" or "failed NAME: reason" for each.
# Bugs in GPU kernels (gpu/*.mutant) are edits of generated code and need no build: test_ptx plants them itself, in its
# test case "every planted bug is reported"; tests/unit/ptx/planted_bugs.hpp has their format.
set -uo pipefail

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
jobs=$(nproc)
temp_root=${TMPDIR:-/tmp}
time_limit=300
names=()
while [ $# -gt 0 ]; do
  case $1 in
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    --temp) temp_root=${2:?--temp needs a folder}; shift ;;
    --*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) names+=("$1") ;;
  esac
  shift
done
if [ ${#names[@]} -eq 0 ]; then
  for mutant in "$source_dir"/tests/mutants/*.sed; do names+=("$(basename "$mutant" .sed)"); done
fi

work=$(mktemp -d "$temp_root/dyn-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree
log=$work/log
failed=0

report_failure() {  # name, reason
  failed=$((failed + 1))
  echo "failed $1: $2"
}

field() { sed -nE "s/^# $2: //p" "$source_dir/tests/mutants/$1.sed"; }

copy_tree() {
  mkdir -p "$tree"
  (cd "$source_dir" && git ls-files --cached --others --exclude-standard -z |
    tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -xf - -C "$tree"
}

# Paths relative to the copy: the next run's copy lies elsewhere, and finds this one's objects.
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1

configure() {
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake -S "$tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDYN_EXAMPLES=OFF "${launcher[@]}" >"$log" 2>&1
}

build() { cmake --build "$work/build" --parallel "$jobs" --target "$@" >"$log" 2>&1; }

# The test's own exit code; a cache of its own, since code that a mutant generates must not be found by the next.
passes() {  # program, test case
  rm -rf "$work/cache"
  DYN_CACHE_DIR=$work/cache DYN_SEED=1 timeout "$time_limit" "$work/build/tests/$1" --test-case="$2" >"$log" 2>&1
}

try_mutant() {  # name
  local name=$1 file target test
  file=$(field "$name" file) target=$(field "$name" target) test=$(field "$name" test)
  cp "$tree/$file" "$work/original"
  sed -i -f "$source_dir/tests/mutants/$name.sed" "$tree/$file"
  if cmp -s "$tree/$file" "$work/original"; then
    report_failure "$name" "its edit finds nothing in $file"
  elif ! build "$target"; then
    report_failure "$name" "it does not build: $(grep -m1 'error' "$log")"
  elif passes "$target" "$test"; then
    report_failure "$name" "$target, '$test' did not notice"
  else
    echo "ok $name"
  fi
  cp "$work/original" "$tree/$file"
}

copy_tree
configure || { tail -20 "$log"; echo "failed mutants: cannot configure"; exit 1; }
targets=()
for name in "${names[@]}"; do targets+=("$(field "$name" target)"); done
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
build "${targets[@]}" || { tail -20 "$log"; echo "failed mutants: the unchanged tree does not build"; exit 1; }

# All of the unchanged tree's tests come first: after the first mutant the programs are no longer its own.
sound=()
for name in "${names[@]}"; do
  if ! passes "$(field "$name" target)" "$(field "$name" test)"; then
    report_failure "$name" "its test fails without the mutant as well"
  elif ! grep -qE 'test cases: +[1-9]' "$log"; then
    report_failure "$name" "there is no test case '$(field "$name" test)' (a comma in a name needs a wildcard)"
  else
    sound+=("$name")
  fi
done
for name in "${sound[@]}"; do try_mutant "$name"; done
[ "$failed" -eq 0 ]
