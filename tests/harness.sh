#!/usr/bin/env bash
# Tests of the tests' own tools: what tests/stage.sh counts, tells and remembers, and which mutants are chosen. Prints "ok NAME" or "failed NAME: reason".
set -uo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
unset DYN_TEST_AGAIN

# A stage whose program prints the file's text and ends with the code. What it tells goes to $work/told.
stage() {  # kind, file, exit code, more words for tests/stage.sh...
  bash tests/stage.sh demo "$1" "$work/results" "${@:4}" -- bash -c "echo ran >>$work/runs; cat $2; exit $3" >"$work/told" 2>&1
}

verdict() {  # name, reason or nothing
  if [ -z "$2" ]; then
    echo "ok $1"
  else
    echo "failed $1: $2"
    sed 's/^/    /' "$work/told"
    failures=$((failures + 1))
  fi
}

tells() {  # name, lines that must be told...
  local line missing=
  for line in "${@:2}"; do grep -qF -- "$line" "$work/told" || missing="it does not tell '$line'"; done
  verdict "$1" "$missing"
}

tells_not() {  # name, text
  verdict "$1" "$(! grep -qF -- "$2" "$work/told" || echo "it tells '$2'")"
}

counts() {  # name, passed failed skipped state
  local seconds counted
  read -r seconds counted <"$work/results/demo.result"
  verdict "$1" "$([ "$counted" = "$2" ] || echo "'$counted', not '$2'")"
}

# What doctest 2.4 prints.
head_of() { printf '%79s\n/src/%s:\nTEST CASE:  %s\n\n' '' "$1" "$2" | sed '1s/ /=/g'; }
check() { printf '/src/%s: ERROR: CHECK( %s ) is NOT correct!\n  values: CHECK( %s )\n  logged: %s\n\n' "$@"; }
passing() { for i in $(seq "$1"); do head_of "quiet.cpp:$i" "quiet $i"; echo "0.000100 s: quiet $i"; done; }
summary() { printf '%79s\n[doctest] test cases:    %s |    %s passed | %s failed | 0 skipped\n[doctest] Status: %s!\n' '' "$@" | sed '1s/ /=/g'; }

{
  echo DYN_SEED=17
  passing 200
  head_of a_test.cpp:7 'the size is right'
  check a_test.cpp:9 'size + 1 == 5' '4 == 5' 'a graph of 3 nodes'
  echo '0.010000 s: the size is right'
  passing 200
  for case in b c d e f; do
    head_of ${case}_test.cpp:3 "case $case"
    for i in $(seq 40); do check ${case}_test.cpp:4 "i == $case" "$i == 0" "round $i"; done
    echo "0.010000 s: case $case"
  done
  passing 200
  summary 606 600 6 FAILURE
} >"$work/failing.log"
stage cases "$work/failing.log" 1
tells "a failed case within a long log is told" '/src/a_test.cpp:7:' 'TEST CASE:  the size is right' 'ERROR: CHECK( size + 1 == 5 ) is NOT correct!' \
  'values: CHECK( 4 == 5 )' 'logged: a graph of 3 nodes'
tells "seeds are told" 'DYN_SEED=17'
tells "a case that fails often is cut short, and how often is told" 'logged: round 5' '40 checks failed in /src/b_test.cpp:3:'
tells_not "a case is told in 30 lines" 'logged: round 9'
tells "of the sixth failed case place and name are told" '/src/f_test.cpp:3: case f'
tells_not "cases that passed are not told" 'quiet 100'
verdict "what is told is short" "$([ "$(wc -l <"$work/told")" -lt 160 ] || wc -l <"$work/told")"
counts "failed cases are counted" "600 6 0 failed"

{ passing 200; echo '==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x6'; echo '    #0 0x5 in f /src/f.cpp:1'; } >"$work/sanitizer.log"
stage cases "$work/sanitizer.log" 1
tells "a sanitizer's report is told" 'AddressSanitizer: heap-use-after-free' '#0 0x5 in f /src/f.cpp:1' 'no summary, exit code 1'

{ passing 200; echo 'cannot allocate'; } >"$work/short.log"
stage cases "$work/short.log" 134
tells "of a program that ended early the log's end is told" 'no summary, exit code 134' 'cannot allocate' 'quiet 190'

{ passing 3; summary 3 3 0 SUCCESS; } >"$work/passing.log"
stage cases "$work/passing.log" 0
counts "cases that passed are counted" "3 0 0 passed"
stage cases "$work/passing.log" 1
counts "an exit code fails" "3 1 0 failed"

{ echo 'ok one'; for i in $(seq 200); do echo "noise $i"; done; echo 'failed two: not so'; for i in $(seq 200); do echo "noise $i"; done; } >"$work/lines.log"
stage lines "$work/lines.log" 1
tells "a script's failed check is told" 'failed two: not so'
counts "a script's checks are counted" "1 1 0 failed"
printf '%s\n' 'ok one' 'skipped nothing.of_this_name: no reason' >"$work/skips.log"
stage lines "$work/skips.log" 0
counts "a skip that nobody allowed fails" "1 1 0 failed"

echo one >"$work/input"
echo 'ok one' >"$work/ok.log"
rm -f "$work/runs"
for again in 1 2; do stage lines "$work/ok.log" 0 --inputs "$work/input"; done
counts "a stage whose inputs stayed is unchanged" "1 0 0 unchanged"
echo two >"$work/input"
stage lines "$work/ok.log" 0 --inputs "$work/input"
counts "other inputs, another run" "1 0 0 passed"
verdict "it ran twice in three calls" "$([ "$(wc -l <"$work/runs")" -eq 2 ] || cat "$work/runs")"

: >"$work/told"
verdict "mutants are chosen and remembered" "$(python3 tests/mutants/choose_test.py 2>&1)"

exit $((failures > 0))
