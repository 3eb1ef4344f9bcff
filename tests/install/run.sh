#!/usr/bin/env bash
# Installs BUILD_DIR into an empty prefix and uses it from a project elsewhere. Prints "ok NAME" or "failed NAME" lines.
#   tests/install/run.sh BUILD_DIR
. "$(dirname "$0")/support.sh" "$@"

check "cmake --install" cmake --install "$build_dir" --prefix "$scratch/prefix"
check "find_package(dyn) configures" cmake -G Ninja -S "$source_dir" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release
check "an embedder builds" cmake --build "$scratch/build"
check "an embedder runs" "$scratch/build/embedder"
check "installed dynrun runs" "$scratch/prefix/bin/dynrun" --version
exit $((failures > 0))
