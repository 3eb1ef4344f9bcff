#!/usr/bin/env bash
# Every operator's cases on the emulator, in each precision, against float64: what tests/gpu/run.sh does on a real GPU.
#   tests/cli/gpu_operators.sh BUILD_DIR
# Where DYN_TEST_LANE is not all, half of the cases in one of the precisions, by a seed.
. "$(dirname "$0")/../support/cli.sh" "$@"
operators=$build/tests/dyn-gpu-check
mapfile -t precisions < <(some_of 1 f32 tf32 f16 bf16)

for precision in "${precisions[@]}"; do
  "$operators" operators --device emulator --precision "$precision" >"$scratch/all" 2>&1
  code=$?
  tail -20 "$scratch/all" >"$scratch/out"
  runs=$(sed -nE 's/.* on the device, ([0-9]+) runs, .*/\1/p' "$scratch/all" | awk '{ sum += $1 } END { print sum + 0 }')
  echo "note: operators on the emulator in $precision: ${runs:-0} runs"
  message=
  [ $code -eq 0 ] && [ "${runs:-0}" -gt 0 ] || message="exit code $code"
  report "operators on the emulator in $precision" "$message"
done
finish
