#!/usr/bin/env bash
# Fits the constants of the cost model (src/choice/calibration/calibration.json) to measured programs, and prints what each is worth.
#   calibrate.sh                  the regret by suite, with the constants as they are and with each term left out
#   calibrate.sh --fit FILE       fits again, prints what changed, and writes FILE: a new calibration.json
#   calibrate.sh --measure NAME   measures this machine first (15 to 30 minutes, nothing else running): src/choice/calibration/measurements/NAME.jsonl.gz
# BUILD names the build folder with bin/dyn-fit and bin/dynrun (build/release).
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}
kept=src/choice/calibration/measurements
cmake --build "$build" --target dyn-fit dynrun > /dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1:-}" = --measure ]; then
  name=${2:?calibrate.sh --measure NAME}
  measure() {
    "$build/bin/dynrun" select "$@" --policies dyn,oracle --rounds 4 --slice-ms 0.6 --measurements "$work/part" --format csv > /dev/null
    cat "$work/part" >> "$work/all"
  }
  for threads in 1 2; do
    for suite in gnn transformer cnn deepbench; do
      measure "tests/bench/suites/gemm-$suite.txt" --most-gflop 2 --threads $threads
      measure "tests/bench/suites/gemm-$suite.txt" --most-gflop 1 --threads $threads --random 30 --random-only
    done
  done
  # Shapes that single terms of the model are about.
  measure tests/bench/suites/term-narrow.txt --most-gflop 2 --threads 2
  measure tests/bench/suites/term-far.txt --most-gflop 2 --threads 2
  measure tests/bench/suites/term-beyond.txt --most-gflop 8 --threads 1
  gzip -9nc "$work/all" > "$kept/$name.jsonl.gz"
  rm "$work"/*
  shift 2
fi

for file in "$kept"/*.jsonl.gz; do gzip -dc "$file" > "$work/$(basename "$file" .gz)"; done
"$build/bin/dyn-fit" --leave-out "$@" "$work"/*.jsonl
