#!/usr/bin/env bash
# Installs BUILD_DIR into an empty prefix and uses it from a project elsewhere. Prints "ok NAME" or "failed NAME" lines.
#   tests/install/run.sh BUILD_DIR
set -uo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)
build_dir=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

check() {  # name, command...
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then
    echo "ok $name"
  else
    echo "failed $name:"
    sed 's/^/    /' "$scratch/log" | tail -20
    failures=$((failures + 1))
  fi
}

only_dyn_is_visible() {
  local foreign
  foreign=$(nm -D --defined-only -C "$(find "$scratch/prefix" -name 'libdyn.so' | head -1)" | awk '{$1=""; $2=""; print}' |
    grep -vE '^ *(typeinfo (name )?for |vtable for )?dyn::|^ *[^ ]+ dyn::|^ *std::.* dyn::|dyn_|DYN_|^ *$')
  [ -z "$foreign" ] || { echo "$foreign"; return 1; }
}

internals_are_hidden() {
  ! nm -D --defined-only -C "$(find "$scratch/prefix" -name 'libdyn.so' | head -1)" | grep -E 'llvm::|dyn::(graph|cpu|codegen|rkernel)::'
}

check "cmake --install" cmake --install "$build_dir" --prefix "$scratch/prefix"
check "find_package(dyn) configures" cmake -G Ninja -S "$source_dir" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release
check "an embedder builds" cmake --build "$scratch/build"
check "an embedder runs" env DYN_CACHE_DIR=none "$scratch/build/embedder"
if find "$scratch/prefix" -name 'libdyn.so' | grep -q .; then
  check "libdyn shows dyn only" only_dyn_is_visible
  check "libdyn hides its internals" internals_are_hidden
fi
check "installed dynrun runs" "$scratch/prefix/bin/dynrun" --version
exit $((failures > 0))
