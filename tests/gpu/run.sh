#!/bin/bash
# Everything that needs a real GPU, in one go: bash tests/gpu/run.sh BUILD_DIR OUTPUT_DIR [MODEL.dyn --dims ...]
#
# Builds dyn-gpu-check and dynrun where they are missing, then checks devices, tiles (also against the emulator), operators and the model
# (on the GPU against the CPU), repeats a part of it under compute-sanitizer, and measures matrix products beside cuBLAS. Each part writes
# OUTPUT_DIR/PART.txt; a summary is printed at the end. Exit status: 0 all well, 1 failures, 77 no GPU.
set -u
build=${1:?BUILD_DIR} output=${2:?OUTPUT_DIR}
shift 2
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
mkdir -p "$output"
export DYN_TEST_LANE=all  # nothing is thinned

check=$build/tests/dyn-gpu-check
dynrun=$build/bin/dynrun
if [ ! -x "$check" ] || [ ! -x "$dynrun" ]; then
  [ -f "$build/CMakeCache.txt" ] || cmake -S "$source_dir" -B "$build" -DCMAKE_BUILD_TYPE=Release || exit 1
  cmake --build "$build" --target dyn-gpu-check dynrun --parallel || exit 1
fi

failed=()
# part NAME COMMAND...: runs it, keeps what it prints.
part() {
  local name=$1 status
  shift
  echo "== $name: $*"
  "$@" > "$output/$name.txt" 2>&1
  status=$?
  tail -n 3 "$output/$name.txt"
  [ $status -eq 0 ] || failed+=("$name ($status)")
  return $status
}

part devices "$check" devices
if [ $? -eq 77 ]; then exit 77; fi
date -u +%F > "$output/date.txt"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,ecc.mode.current --format=csv > "$output/nvidia-smi.txt" 2>&1

part record "$check" record --output "$output/recorded.json"
for precision in f32 tf32 f16 bf16 i8; do
  part "tiles-$precision" "$check" tiles --precision $precision
  part "emulator-$precision" "$check" tiles --precision $precision --rounds 1 --emulate yes
done
for precision in f32 tf32 f16 bf16; do
  part "attention-$precision" "$check" attention --precision $precision
  part "emulator-attention-$precision" "$check" attention --precision $precision --rounds 1 --emulate yes
  part "operators-$precision" "$check" operators --precision $precision
done

# The largest difference allowed between the GPU and f32 on the CPU, of each output's largest value.
declare -A tolerance=([f32]=1e-4 [tf32]=2e-2 [f16]=2e-2 [bf16]=8e-2)
if [ $# -gt 0 ]; then
  part model-cpu "$dynrun" run "$@" --random-weights --seed 1 --save-outputs "$output/model-cpu"
  for precision in f32 tf32 f16 bf16; do
    part "model-$precision" "$dynrun" run "$@" --random-weights --seed 1 --device cuda --precision $precision \
      --save-outputs "$output/model-$precision"
    part "model-$precision-compare" "$check" compare "$output/model-cpu" "$output/model-$precision" "${tolerance[$precision]}"
  done
fi

if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck synccheck initcheck; do
    for precision in f32 bf16; do
      part "$tool-$precision" compute-sanitizer --tool $tool --error-exitcode 1 "$check" tiles --precision $precision --rounds 1
      part "$tool-attention-$precision" compute-sanitizer --tool $tool --error-exitcode 1 "$check" attention --precision $precision --rounds 1
    done
  done
  part memcheck-operators compute-sanitizer --tool memcheck --error-exitcode 1 "$check" operators
else
  echo "compute-sanitizer is not on PATH: its part was left out"
  failed+=("compute-sanitizer (missing)")
fi

echo "4096 4096 4096" > "$output/square_shapes.txt"
part benchmark-square "$check" benchmark --shapes "$output/square_shapes.txt"
part benchmark-transformer "$check" benchmark --shapes "$here/transformer_shapes.txt"
part candidates "$check" candidates --shapes "$here/transformer_shapes.txt"
cat "$output/benchmark-square.txt" "$output/benchmark-transformer.txt"

if [ ${#failed[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "all parts passed"
