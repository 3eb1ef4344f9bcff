#!/usr/bin/env bash
# Runs one stage of the tests, as CTest calls it (cmake/stages.cmake lists them), and keeps what it counted for tests/run.sh.
#
#   bash tests/stage.sh NAME KIND RESULTS_DIR [--inputs "PATH..."] -- COMMAND...
#
# KIND says how the command reports: `cases` (a doctest program) or `lines` ("ok NAME", "failed NAME: ...", "skipped NAME: reason").
# RESULTS_DIR/NAME.result gets "seconds passed failed skipped state", NAME.log what the command printed.
# With --inputs, the digest of those files is kept when the stage passes; while it stays the same the stage need not run again.
# DYN_TEST_AGAIN=yes runs it in any case.
set -uo pipefail
name=${1:?NAME} kind=${2:?KIND} results=${3:?RESULTS_DIR}
shift 3
inputs=
[ "${1:-}" != --inputs ] || { inputs=$2; shift 2; }
[ "${1:-}" = -- ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
shift
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$results"
log=$results/$name.log
result=$results/$name.result
pass=$results/$name.pass
rm -f "$result"
passed=0 failed=0 skipped=0

# Everything that decides what the stage does: files, the lane, the seed that was asked for, this CPU, and how the build was configured.
digest() {
  {
    echo "$* ${DYN_TEST_LANE:-default} ${DYN_SEED:-} ${DYN_SWEEP_SEED:-}"
    grep -m1 -E '^(flags|Features)' /proc/cpuinfo
    (cd "$root" && find $inputs CMakeLists.txt CMakePresets.json cmake tests/stage.sh tests/skips.txt -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
    find "${results%/*}" -maxdepth 1 -name CMakeCache.txt -exec grep -E '^(CMAKE_CXX_COMPILER|CMAKE_BUILD_TYPE|DYN_[A-Z]+):' {} +
  } | sha256sum | cut -d' ' -f1
}

keep() {  # seconds, state
  echo "$1 $passed $failed $skipped $2" >"$result"
}

fail() {  # what
  failed=$((failed + 1))
  echo "FAILED $name: $1"
}

# A skip that tests/skips.txt does not name is a failure.
count_skips() {
  local skip
  while IFS= read -r skip; do
    if grep -qE "^${skip//./\\.}:" "$root/tests/skips.txt"; then
      skipped=$((skipped + 1))
    else
      fail "$skip was skipped, but tests/skips.txt does not allow it"
    fi
  done < <(sed -nE 's/^skipped ([^:]+):.*/\1/p' "$log")
}

# A summary that is missing means that the program did not come to its end.
count_cases() {  # exit code
  local summary
  summary=$(grep -E '^\[doctest\] test cases:' "$log" | tail -1)
  if [[ $summary =~ :\ +([0-9]+)\ +\|\ +([0-9]+)\ passed\ \|\ +([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[2]))
    if [ "${BASH_REMATCH[3]}" -gt 0 ]; then
      fail "${BASH_REMATCH[3]} test cases"
      failed=$((failed + BASH_REMATCH[3] - 1))
    fi
    [ "${BASH_REMATCH[1]}" -gt 0 ] || fail "no test case was run"
    [ "$1" -eq 0 ] || [ "$failed" -gt 0 ] || fail "exit code $1"
  else
    fail "no summary, exit code $1"
  fi
}

# Each failed case. The end of the log alone has none, and is all that a program leaves that did not come to its end.
explain_cases() {
  local cases
  cases=$(awk -f "$root/tests/failed_cases.awk" "$log")
  [ -z "$cases" ] || printf '%s\n' "$cases" "the log ends:"
  tail -n "$([ -n "$cases" ] && echo 8 || echo 60)" "$log"
}

explain_lines() { grep -aE '^failed ' "$log"; tail -n 60 "$log"; }

count_lines() {  # exit code
  local bad
  passed=$(grep -cE '^ok ' "$log")
  bad=$(grep -cE '^failed ' "$log")
  if [ "$bad" -gt 0 ]; then
    fail "$bad checks"
    failed=$((failed + bad - 1))
  elif [ "$1" -ne 0 ]; then
    fail "exit code $1"
  elif [ $((passed + skipped + failed)) -eq 0 ]; then
    fail "it checked nothing"
  fi
}

now=
if [ -n "$inputs" ]; then
  now=$(digest "$@")
  if [ "${DYN_TEST_AGAIN:-no}" != yes ] && [ -f "$pass" ]; then
    read -r before seconds passed skipped <"$pass"
    if [ "$before" = "$now" ]; then
      echo "unchanged since it passed in $seconds s"
      keep 0 unchanged
      exit 0
    fi
    passed=0 skipped=0
  fi
  rm -f "$pass"
fi

begun=$SECONDS
# A cache of its own: tests must neither use nor touch the user's.
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
DYN_CACHE_DIR=$cache/cache "$@" >"$log" 2>&1 </dev/null
code=$?
count_skips
"count_$kind" "$code"
seconds=$((SECONDS - begun))
sed -nE 's/^note: /   /p' "$log"
if [ "$failed" -gt 0 ]; then
  keep $seconds failed
  { grep -aE '^DYN_(SWEEP_)?SEED=' "$log" | sort -u; "explain_$kind"; } | sed 's/^/    /'
  exit 1
fi
keep $seconds passed
[ -z "$now" ] || echo "$now $seconds $passed $skipped" >"$pass"
