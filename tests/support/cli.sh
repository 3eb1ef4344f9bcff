# For the scripts of tests/cli, which source it with their arguments: BUILD_DIR.
# Sets build, dynrun, scratch (removed at the end), a cache directory in there, and failures. Each check prints "ok NAME" or "failed NAME: ...".
set -uo pipefail
build=$(cd "${1:?the build folder}" && pwd) || exit
dynrun=$build/bin/dynrun
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export DYN_CACHE_DIR=$scratch/cache
failures=0
: >"$scratch/out" >"$scratch/err"

# problem NAME MESSAGE: a failed check, with what the last program printed.
problem() {
  echo "failed $1: $2"
  cat "$scratch/out" "$scratch/err" | head -20 | sed 's/^/    /'
  failures=$((failures + 1))
}

# report NAME MESSAGE: failed with the message, or ok where it is empty.
report() {
  if [ -z "$2" ]; then echo "ok $1"; else problem "$1" "$2"; fi
}

# expect NAME CODE PATTERN ARGUMENTS...: runs dynrun; its exit code, and a pattern in stdout and stderr together.
expect() {
  local name=$1 wanted=$2 pattern=$3 code
  shift 3
  "$dynrun" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  code=$?
  if [ $code -ne "$wanted" ]; then
    problem "$name" "exit code $code instead of $wanted"
  elif [ "$wanted" -ne 0 ] && [ -s "$scratch/out" ]; then
    problem "$name" "an error wrote to stdout"
  else
    has "$name" "$pattern"
  fi
}

# has NAME PATTERN: in the output of the last expect.
has() {
  if grep -qE -- "$2" "$scratch/out" "$scratch/err"; then echo "ok $1"; else problem "$1" "the output lacks $2"; fi
}

# check NAME COMMAND...: the command succeeds.
check() {
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then echo "ok $name"; else problem "$name" "$(tail -5 "$scratch/log")"; fi
}

# some_of COUNT WORD...: all of them where DYN_TEST_LANE is all, else COUNT, by the seed that is printed; a line each.
sweep_seed=${DYN_SWEEP_SEED:-$RANDOM}
[ "${DYN_TEST_LANE:-default}" = all ] || echo "DYN_SWEEP_SEED=$sweep_seed"
some_of() {
  local count=$1
  shift
  if [ "${DYN_TEST_LANE:-default}" = all ]; then printf '%s\n' "$@"; else shuf -n "$count" --random-source=<(yes "$sweep_seed") -e "$@"; fi
}

finish() { exit $((failures > 0)); }
