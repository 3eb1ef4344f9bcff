#!/usr/bin/env bash
# Address spaces of all sizes: a model runs, or is an error; nothing ends by a signal.
#   tests/cli/low_memory.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"
cd "$(dirname "$0")"

# Below the first of them the program itself does not start.
kilobytes=()
for ((size = 40 << 10; size < 900 << 10; size += size / 20)); do
  { (ulimit -v "$size"; "$dynrun" --version); } >/dev/null 2>&1 && kilobytes+=("$size")
done
ran=0 refused=0 tried=0
for size in $(some_of 12 "${kilobytes[@]}") "${kilobytes[-1]}"; do
  (
    ulimit -v "$size"
    "$dynrun" run model.dyn --dims B=3 --dims S=7 --cache-dir none --threads $((1 + size % 3))
  ) >"$scratch/out" 2>"$scratch/err" </dev/null
  code=$?
  tried=$((tried + 1))
  if [ $code -ge 126 ]; then
    problem "an address space of $size KB" "exit code $code"
  elif [ $code -eq 0 ]; then
    ran=$((ran + 1))
  else
    refused=$((refused + 1))
  fi
done
report "$tried sizes of address spaces: a run or an error" "$([ $((ran + refused)) -eq $tried ] || echo "$ran runs, $refused errors")"
report "the largest of them is enough" "$([ "$code" -eq 0 ] || cat "$scratch/err")"
echo "note: of $tried sizes of address spaces $ran were enough"
finish
