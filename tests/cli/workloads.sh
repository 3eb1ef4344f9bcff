#!/usr/bin/env bash
# The models of the papers that tests/bench/paper_models.py writes: each text is a model, and has kernels for a described GPU at ends of the
# papers' ranges (docs/workloads.md). Nothing is run.
#   tests/cli/workloads.sh BUILD_DIR
. "$(dirname "$0")/../support/cli.sh" "$@"
root=$(cd "$(dirname "$0")/../.." && pwd)

check "workloads: the models are written" python3 -B "$root/tests/bench/paper_models.py" "$scratch/models"
# Results in words of the canonical text: classes of images, states of tokens.
declare -A results=([alexnet]="scores: f32\[N, 1000\]" [vgg11]="scores: f32\[N, 1000\]" [vgg19]="scores: f32\[N, 1000\]"
  [resnet18]="scores: f32\[N, 1000\]" [resnet50]="scores: f32\[N, 1000\]" [googlenet]="scores: f32\[N, 1000\]"
  [vit_base]="scores: f32\[B, 1000\]" [roberta_base]="hidden: f32\[B, S, 768\]" [albert_large]="hidden: f32\[B, S, 1024\]"
  [albert_xxlarge]="hidden: f32\[B, S, 4096\]" [llama2_13b_layer]="y: f32\[B, S, 5120\]")
written=$(cd "$scratch/models" && ls | sed 's/\.dyn$//' | sort | tr '\n' ' ')
report "workloads: these models and no others" \
  "$([ "$written" = "$(printf '%s\n' "${!results[@]}" | sort | tr '\n' ' ')" ] || echo "$written")"
for model in "${!results[@]}"; do
  expect "workloads: $model is a model" 0 "${results[$model]}" inspect "$scratch/models/$model.dyn" --random-weights --after simplify
done

# at MODEL DIMS...: kernels of every group at this end of its range.
at() {
  local model=$1 dims=()
  shift
  for dim in "$@"; do dims+=(--dims "$dim"); done
  expect "workloads: $model at $*" 0 "on 108 multiprocessors" \
    explain "$scratch/models/$model.dyn" --random-weights --device cuda --gpu a100 "${dims[@]}"
}
while read -r model dims; do
  # shellcheck disable=SC2086
  at "$model" $dims
done < <(some_of 2 "alexnet N=128 H=64 W=640" "vgg11 N=1 H=64 W=640" "resnet18 N=128 H=64 W=64" "googlenet N=1 H=640 W=64" \
  "vit_base B=32 H=32 W=384" "roberta_base B=1 S=500" "llama2_13b_layer B=8 S=512")

finish
