#!/usr/bin/env bash
# Runs the numbered examples, each of which checks its own result. Prints "ok NAME" or "failed NAME: ..." lines.
#   bash tests/examples.sh BUILD_DIR
set -uo pipefail
build=${1:?BUILD_DIR}
failures=0
for source in "$(dirname "$0")"/../examples/[0-9]*.c*; do
  name=$(basename "${source%.*}")
  if output=$("$build/examples/$name" 2>&1); then
    echo "ok $name"
  else
    printf 'failed %s: %s\n' "$name" "$output"
    failures=$((failures + 1))
  fi
done
exit $((failures > 0))
