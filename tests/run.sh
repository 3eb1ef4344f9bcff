#!/usr/bin/env bash
# Builds dyn and runs all its tests. The last line is "N passed, N failed, N skipped".
#   --fast          without the slow cases, the sanitizer build, the fuzzers and the install test
#   --filter TEXT   only the test programs and scripts whose names contain TEXT
#   --mutants       only tests/mutants: copies of dyn that are broken on purpose, each of which a test must notice
#   --no-install-packages
set -uo pipefail
cd "$(dirname "$0")/.."

fast=no
filter=
install_packages=yes
mutants=no
while [ $# -gt 0 ]; do
  case $1 in
    --fast) fast=yes ;;
    --filter) filter=${2:?--filter needs a text}; shift ;;
    --mutants) mutants=yes ;;
    --no-install-packages) install_packages=no ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done

release=build/release
sanitized=build/asan-ubsan
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# A cache of its own: tests must neither use nor touch the user's.
export DYN_CACHE_DIR=$logs/cache
passed=0 failed=0 skipped=0
failures=()

fail() {  # name, log file
  failed=$((failed + 1))
  failures+=("$1")
  echo "FAILED $1"
  [ -n "${2:-}" ] || return 0
  { grep -E '^DYN_SEED=' "$2"; tail -n 60 "$2"; } | sed 's/^/    /'
}

wanted() { [[ -z $filter || $1 == *"$filter"* ]]; }

allowed_skip() { grep -qE "^${1//./\\.}:" tests/skips.txt; }

count_skips() {  # log file: lines "skipped NAME: reason"
  local name
  while IFS= read -r name; do
    if allowed_skip "$name"; then skipped=$((skipped + 1)); else fail "$name was skipped, but tests/skips.txt does not allow it"; fi
  done < <(sed -nE 's/^skipped ([^:]+):.*/\1/p' "$1")
}

# A doctest program: its own summary gives the counts. A crash, or a summary that is missing, is a failure of its own.
run_program() {  # label, program, doctest arguments...
  local label=$1 program=$2 code log=$logs/log
  shift 2
  wanted "$label" || return 0
  local begun=$SECONDS
  "$program" --no-colors=true --no-intro=true "$@" >"$log" 2>&1
  code=$?
  echo "-- $label, $((SECONDS - begun)) s"
  count_skips "$log"
  sed -nE 's/^note: /   /p' "$log"
  local summary
  summary=$(grep -E '^\[doctest\] test cases:' "$log" | tail -1)
  if [[ $summary =~ :\ +([0-9]+)\ +\|\ +([0-9]+)\ passed\ \|\ +([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[2]))
    if [ "${BASH_REMATCH[3]}" -gt 0 ]; then
      fail "$label" "$log"
      failed=$((failed + BASH_REMATCH[3] - 1))
    elif [ $code -ne 0 ]; then
      fail "$label (exit code $code)" "$log"
    fi
  else
    fail "$label (no summary, exit code $code)" "$log"
  fi
}

# A script that prints "ok NAME", "failed NAME: ..." and "skipped NAME: reason" lines.
run_script() {  # label, command...
  local label=$1 code log=$logs/log
  shift
  wanted "$label" || return 0
  local begun=$SECONDS
  "$@" >"$log" 2>&1
  code=$?
  echo "-- $label, $((SECONDS - begun)) s"
  count_skips "$log"
  sed -nE 's/^note: /   /p' "$log"
  local good bad without
  good=$(grep -cE '^ok ' "$log")
  without=$(grep -cE '^skipped ' "$log")
  bad=$(grep -cE '^failed ' "$log")
  passed=$((passed + good))
  if [ "$bad" -gt 0 ] || [ $code -ne 0 ] || [ $((good + without)) -eq 0 ]; then
    fail "$label" "$log"
    [ "$bad" -gt 1 ] && failed=$((failed + bad - 1))
  fi
}

# A program that checks its own result.
run_example() {
  local label log=$logs/log
  label=$(basename "$1")
  wanted "$label" || return 0
  if "$1" >"$log" 2>&1; then passed=$((passed + 1)); else fail "$label" "$log"; fi
}

build() {  # preset
  local begun=$SECONDS
  echo "== building $1"
  # The quickstart leaves tests out of the same folder.
  if cmake --preset "$1" -DDYN_TESTS=ON >"$logs/configure" 2>&1 && cmake --build --preset "$1" >"$logs/build" 2>&1; then
    echo "   built in $((SECONDS - begun)) s"
    return 0
  fi
  grep -hE -A4 'error:|CMake Error|FAILED:' "$logs/configure" "$logs/build" 2>/dev/null | head -60
  fail "the $1 build"
  return 1
}

finish() {
  echo
  for name in "${failures[@]}"; do echo "FAILED $name"; done
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

needed=(--suite --emulator --fuzz)
[ $fast = yes ] && needed=(--suite)
[ $install_packages = no ] || bash scripts/install_packages.sh "${needed[@]}" || { fail "scripts/install_packages.sh"; finish; }
if [ $mutants = yes ]; then
  run_script mutants bash tests/mutants/run.sh
  finish
fi
build release || finish

export DYN_TEST_FAST=$fast
speed=()
[ $fast = yes ] && speed=(--test-suite-exclude=full)

# Every test program of a build; one that is missing is a failure.
run_programs() {  # build folder, prefix of labels, doctest arguments...
  local folder=$1 prefix=$2 source name
  shift 2
  for source in tests/unit/* tests/kernels; do
    name=test_$(basename "$source")
    run_program "$prefix$name" "$folder/tests/$name" "$@"
  done
}

echo "== tests"
run_programs "$release" "" "${speed[@]}"
for program in "$release"/examples/[0-9]*; do
  [ -x "$program" ] && run_example "$program"
done
run_script structure bash tests/structure.sh
for script in tests/cli/*.sh; do
  run_script "cli/$(basename "$script" .sh)" bash "$script" "$release"
done
sample=()
[ $fast = yes ] && sample=(--sample 60)
run_script conformance bash tests/conformance/run.sh "$release" "${sample[@]}"

if [ $fast = no ]; then
  run_script light_models bash tests/conformance/light_models.sh "$release"
  run_script install bash tests/install/run.sh "$release"
  run_script avx512 bash tests/avx512/run.sh "$release"
  run_script fuzz bash tests/fuzz/run.sh "$release"
  export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_container_overflow=0 UBSAN_OPTIONS=print_stacktrace=1
  if [ -z "$filter" ] && build asan-ubsan; then
    echo "== tests with AddressSanitizer and UndefinedBehaviorSanitizer, fast part"
    run_programs "$sanitized" "sanitized " --test-suite-exclude=full
  fi
fi
finish
