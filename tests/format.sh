#!/usr/bin/env bash
# Every C and C++ file is as clang-format 19 writes it (.clang-format). Prints "ok format", "failed format: FILE ..." or "skipped format: reason".
#   bash tests/format.sh          looks
#   bash tests/format.sh --write  writes
set -uo pipefail
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-19 || command -v clang-format)
if [ -z "$formatter" ] || ! "$formatter" --version | grep -q 'version 19\.'; then
  echo "skipped format: clang-format 19 is not installed (scripts/install_packages.sh --tests)"
  exit 0
fi
files() { find include graph src targets examples tests \( -name '*.[ch]pp' -o -name '*.[ch]' \) -print0; }
if [ "${1:-}" = --write ]; then
  files | xargs -0 "$formatter" -i
  exit
fi
wrong=$(files | xargs -0 "$formatter" --dry-run 2>&1 | sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: warning:.*/\1/p' | sort -u)
if [ -z "$wrong" ]; then
  echo "ok format"
else
  echo "failed format: $(wc -l <<<"$wrong") files; bash tests/format.sh --write mends them: $(head -5 <<<"$wrong" | tr '\n' ' ')"
  exit 1
fi
