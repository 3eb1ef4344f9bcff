#!/usr/bin/env bash
# Every operator's cases on the emulator, in each precision, against float64: what tests/gpu/run.sh does on a real GPU.
# Prints "ok NAME" or "failed NAME: ..."; the argument is a build folder. With DYN_TEST_FAST=yes f32 only.
set -uo pipefail
check=${1:?the build folder}/tests/dyn-gpu-check
failures=0
precisions=(f32)
[ "${DYN_TEST_FAST:-no}" = yes ] || precisions+=(tf32 f16 bf16)

for precision in "${precisions[@]}"; do
  output=$("$check" operators --device emulator --precision "$precision" 2>&1)
  code=$?
  runs=$(sed -nE 's/.* on the device, ([0-9]+) runs, .*/\1/p' <<<"$output" | awk '{ sum += $1 } END { print sum + 0 }')
  echo "note: operators on the emulator in $precision: ${runs:-0} runs"
  if [ $code -eq 0 ] && [ "${runs:-0}" -gt 0 ]; then
    echo "ok operators on the emulator in $precision"
  else
    echo "failed operators on the emulator in $precision: exit code $code"
    tail -40 <<<"$output" | sed 's/^/    /'
    failures=$((failures + 1))
  fi
done
exit $((failures > 0))
