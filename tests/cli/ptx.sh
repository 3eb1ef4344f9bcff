#!/usr/bin/env bash
# The PTX of whole models: the same for every length, and taken by the assembler for every generation of GPUs, without spills.
#   tests/cli/ptx.sh BUILD_DIR
# Where DYN_TEST_LANE is not all, of one model, by a seed, and for one generation.
. "$(dirname "$0")/../support/cli.sh" "$@"
models=$(cd "$(dirname "$0")/../.." && pwd)/examples

dump() {  # folder, model, dims...
  local into=$1 model=$2
  shift 2
  "$dynrun" explain "$models/$model" --random-weights --device cuda --gpu a100 "$@" --dump-ptx "$into" >"$scratch/log" 2>&1 || tail -5 "$scratch/log"
}

# One kernel: its registers and spilled bytes for a GPU, or what the assembler says.
assemble() {  # GPU, file
  ptxas -v -arch="$1" -o /dev/null "$2" 2>&1 | awk -v name="$2 for $1" '
    /error|fatal/ { print "FAILED " name ": " $0; exit }
    /bytes spill stores/ { for (i = 1; i <= NF; ++i) if ($(i + 1) == "bytes" && $(i + 2) == "spill") spills += $i }
    /Used [0-9]+ registers/ { for (i = 1; i <= NF; ++i) if ($i == "Used") registers = $(i + 1) }
    END { if (registers > 0) print "registers " registers " spills " spills + 0; else print "FAILED " name ": no report" }'
}
export -f assemble

PATH=$PATH:/usr/local/cuda/bin
mapfile -t cases < <(some_of 1 "language_id/language_id.dyn bf16" "models/bert_base.dyn bf16" "models/gpt2.dyn f16" "language_id/language_id.dyn f32" "models/distilbert.dyn tf32")
mkdir "$scratch/all"
for case in "${cases[@]}"; do
  read -r model precision <<<"$case"
  name="$(basename "$model" .dyn) in $precision"
  one=$(dump "$scratch/one" "$model" --dims B=1 --dims S=7 --precision "$precision")
  other=$(dump "$scratch/other" "$model" --dims B=3 --dims S=512 --precision "$precision")
  files=$(find "$scratch/one" -name '*.ptx' | wc -l)
  if [ -n "$one$other" ]; then
    report "PTX of $name" "$one$other"
  elif [ "$files" -eq 0 ]; then
    report "PTX of $name" "no files were written"
  else
    report "PTX of $name is the same for every length ($files kernels)" "$(diff -rq "$scratch/one" "$scratch/other" 2>&1)"
  fi
  for file in "$scratch"/one/*.ptx; do cp "$file" "$scratch/all/$(sha1sum <"$file" | cut -c 1-16).ptx"; done
  rm -rf "$scratch/one" "$scratch/other"
done

if ! command -v ptxas >"$scratch/log"; then
  echo "skipped ptx.models: ptxas is not installed"
else
  for gpu in $(some_of 1 sm_80 sm_90 sm_100); do
    find "$scratch/all" -name '*.ptx' -print0 | xargs -0 -P "$(nproc)" -I{} bash -c "assemble $gpu {}" >"$scratch/results"
    kernels=$(grep -c '^registers' "$scratch/results")
    most=$(awk '/^registers/ && $2 > most { most = $2 } END { print most + 0 }' "$scratch/results")
    spilled=$(awk '/^registers/ && $4 > 0' "$scratch/results" | wc -l)
    echo "note: ptxas assembled $kernels kernels of models for $gpu, at most $most registers, $spilled with spills"
    message=$(grep -m 3 '^FAILED' "$scratch/results" | sed "s|$scratch/all/||")
    [ "$kernels" -gt 0 ] || message="no kernel was assembled. $message"
    [ "$spilled" -eq 0 ] || message="$spilled kernels spill registers. $message"
    report "ptxas takes the kernels of all models for $gpu" "$message"
  done
fi
finish
