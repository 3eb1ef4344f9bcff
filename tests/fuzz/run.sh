#!/usr/bin/env bash
# Fuzzes what reads files that somebody else wrote: ONNX models, the text format, safetensors and npy. Two fuzzers run at a time.
#
#   bash tests/fuzz/run.sh BUILD_DIR [--seconds N] [--seed N] [NAME...]
#
# BUILD_DIR is of the preset asan-ubsan and has the fuzzers, and test_import, whose models are seeds. Inputs that once failed are in regressions/, and are tried first;
# with --seconds 0 nothing else is. Fails for a crash, a report of AddressSanitizer or UndefinedBehaviorSanitizer, an exception other than dyn::Error, an internal error,
# an input that takes 20 s or 1 GiB, and where an invariant of fuzz_NAME.cpp does not hold. Prints "ok NAME" and "failed NAME: ..." lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
seconds=60
seed=1  # the same changes of the same inputs in every run; 0: others each time
names=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --seed) seed=${2:?--seed needs a number}; shift ;;
    --*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) names+=("$1") ;;
  esac
  shift
done
[ ${#names[@]} -gt 0 ] || names=(onnx text safetensors npy)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
fuzzers=$build/tests
crashes=$build/crashes
least_inputs=1000  # fewer runs in the time mean that nothing was fuzzed

[ -x "$fuzzers/fuzz_onnx" ] || { echo "failed fuzz: $fuzzers/fuzz_onnx was not built"; exit 1; }
work=$(mktemp -d)
# Inputs go through files: those in memory are many times as fast.
memory=$(mktemp -d -p /dev/shm dyn-fuzz-XXXXXX 2>/dev/null) || memory=$work
trap 'rm -rf "$work" "$memory"' EXIT
export TMPDIR=$memory
# Freed memory, and the stacks that asked for it, are hardly kept, so that the limit is about one input.
export ASAN_OPTIONS=quarantine_size_mb=64:malloc_context_size=8

# Words of the text format: operators and attributes, as docs/ir.md lists them, and what stands around them.
dictionary() {
  sed -nE 's/^(### |\| )`([a-z0-9_]+)`.*/"\2"/p' "$root/docs/ir.md" | sort -u
  printf '"%s"\n' 'dyn 1\x0a' 'dim ' 'weights ' 'state ' 'graph ' 'return ' ' -> ' 'f32[' 'i64[' 'i32[' 'bool[' 'bf16[' ' = ' 'floordiv(' 'mod(' 'min(' 'max(' ' in 1..' ' hint ' ' multiple ' '9223372036854775807' '-1' \
    '_' 'inf' 'nan' '1e308'
}

seeds() {  # name: its folders of seeds
  mkdir -p "$work/seeds/$1"
  case $1 in
    onnx) DYN_MODEL_CORPUS=$work/seeds/onnx DYN_CACHE_DIR=$work/cache "$build/tests/test_import" >/dev/null ;;
    text) find "$root/tests/bad" "$root/tests/golden" "$root/tests/cli" "$root/tests/models" -name '*.dyn' -size -16k -exec cp --backup=numbered -t "$work/seeds/text" {} + ;;
    *) cp "$here/seeds/$1"/* "$work/seeds/$1" ;;
  esac
}

fuzz() {  # name
  local name=$1 log=$work/$1.log corpus=$work/corpus/$1 options=(-seed="$seed" -max_len=16384 -timeout=20 -rss_limit_mb=1024 -artifact_prefix="$crashes/$1-" -print_final_stats=1)
  local regressions=$work/regressions/$name
  mkdir -p "$corpus" "$crashes" "$regressions"
  [ ! -d "$here/regressions/$name" ] || regressions=$here/regressions/$name
  [ "$name" != text ] || { dictionary >"$work/dictionary" && options+=(-dict="$work/dictionary"); }
  : >"$log"
  # One process for each input that once failed, so that one failure hides no other.
  local input failed=no
  for input in "$regressions"/*; do
    [ -e "$input" ] || continue
    "$fuzzers/fuzz_$name" "${options[@]}" "$input" >>"$log" 2>&1 && continue
    failed=yes
    echo "failed fuzz.$name: $(reason "$log"); again: $fuzzers/fuzz_$name $input"
  done
  [ $failed = no ] || return
  [ "$seconds" -gt 0 ] || { echo "ok fuzz.$name: what once failed"; return; }
  seeds "$name"
  "$fuzzers/fuzz_$name" "${options[@]}" -max_total_time="$seconds" "$corpus" "$work/seeds/$name" "$regressions" >"$log" 2>&1
  local code=$? tried
  tried=$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log")
  if [ $code -ne 0 ]; then
    input=$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$log" | tail -1)
    echo "failed fuzz.$name: $(reason "$log"); again: $fuzzers/fuzz_$name ${input:-(no input was kept)}"
    grep -vE '^#[0-9]+\s|^INFO|NEW_FUNC' "$log" | tail -40
  elif [ "${tried:-0}" -lt $least_inputs ]; then
    echo "failed fuzz.$name: only ${tried:-0} inputs were tried in $seconds s"
  else
    echo "note: $name: $tried inputs, $(ls "$corpus" | wc -l) of them of interest"
    echo "ok fuzz.$name"
  fi
}

reason() {  # log
  grep -hE -m1 '^invariant:|^SUMMARY:|terminate called|runtime error:' "$1" || echo "see the log"
}

export -f fuzz reason seeds dictionary
export build here root fuzzers crashes least_inputs seconds seed work
printf '%s\n' "${names[@]}" | xargs -P 2 -I '{}' bash -c 'fuzz {} >"$work/{}.result"'
cat "$work"/*.result
! grep -q '^failed' "$work"/*.result
