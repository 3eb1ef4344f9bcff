#!/usr/bin/env bash
# What runs at once, under ThreadSanitizer: helpers, tickets, plans, calls, sessions, loads, the caches on disk, the fake GPU driver. Generated
# code and oneTBB are not instrumented; thread_sanitizer.supp says what that hides. Builds the preset tsan first, which takes minutes.
#   tests/thread_sanitizer.sh [doctest arguments, such as --test-case=*threads*]
# Prints "ok NAME" or "failed NAME: ..." for each program.
set -uo pipefail
cd "$(dirname "$0")/.."
programs=(tests/test_runtime examples/03_threads examples/07_generate)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export TSAN_OPTIONS="suppressions=$PWD/tests/thread_sanitizer.supp history_size=7 ${TSAN_OPTIONS:-}"
export DYN_CACHE_DIR=none

cmake --preset tsan >"$log" 2>&1 && cmake --build build/tsan --target "${programs[@]##*/}" >"$log" 2>&1 || { tail -30 "$log"; exit 1; }
failures=0
for program in "${programs[@]}"; do
  arguments=()
  [[ $program != tests/* ]] || arguments=(--no-intro --test-suite-exclude=full "$@")
  if "build/tsan/$program" "${arguments[@]}" >"$log" 2>&1; then
    echo "ok $program"
  else
    echo "failed $program: $(grep -c '^WARNING: ThreadSanitizer' "$log") reports"
    grep -E '^SUMMARY: ThreadSanitizer' "$log" | sort | uniq -c | sort -rn | head
    tail -n 60 "$log"
    failures=$((failures + 1))
  fi
done
exit $((failures > 0))
