#!/usr/bin/env bash
# Installs BUILD_DIR into an empty prefix and uses it from projects elsewhere; dyn within another project. Prints "ok NAME" or
# "failed NAME" lines.
#   tests/install/run.sh BUILD_DIR|PREFIX [--all]
# In a PREFIX dyn is installed already.
# --all compiles dyn within other projects, shared and static, and uses the static library from a prefix; else these are configured alone.
. "$(dirname "$0")/support.sh" "$@"
lane=${DYN_TEST_LANE:-default}
[ "${2:-}" != --all ] || lane=all

# What a prefix has, by CMake and by pkg-config; main.c where there is a C API.
use_prefix() {  # name, prefix, options of pkg-config...
  local name=$1 prefix=$2 folder
  shift 2
  check "$name: find_package(dyn) configures" cmake -G Ninja -S "$source_dir" -B "$scratch/$name" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
  check "$name: an embedder builds" cmake --build "$scratch/$name"
  check "$name: it runs" "$scratch/$name/embedder"
  folder=$(dirname "$(find "$prefix" -name dyn.pc)")
  by_pkgconfig() {  # compiler, source
    local flags
    flags=$(PKG_CONFIG_PATH=$folder pkg-config --cflags --libs "${pkgconfig_options[@]}" dyn) || return 1
    $1 "$source_dir/$2" $flags -o "$scratch/by_pkgconfig" && LD_LIBRARY_PATH=${folder%/pkgconfig} "$scratch/by_pkgconfig"
  }
  pkgconfig_options=("$@")
  check "$name: pkg-config builds a C++ program, which runs" by_pkgconfig "c++ -std=c++20" main.cpp
  [ ! -f "$root/include/dyn/dyn.h" ] || check "$name: pkg-config builds a C program, which runs" by_pkgconfig "cc -std=c11" main.c
}

# The library and the embedder are in what a build would do; tests, tools and examples are not.
plan_is_the_library() {  # build folder
  local plan
  plan=$(ninja -C "$1" -t commands all) || return 1
  grep -q 'embedder' <<<"$plan" && grep -q 'libdyn\.' <<<"$plan" || { echo "no library"; return 1; }
  ! grep -E '/tests/(unit|kernels|support)/|/src/(cli|tune|fit|peak|peer)/|/examples/' <<<"$plan"
}

embed() {  # how, more options of CMake...
  local how=$1 folder=$scratch/$1
  shift
  check "$how leaves the host's settings, and brings the library alone" \
    cmake -G Ninja -S "$source_dir/embedded" -B "$folder" -DHOW="$how" -DDYN_SOURCE="$root" "$@"
  check "$how: a build of all is one of the library" plan_is_the_library "$folder"
  [ "$lane" = all ] || return 0
  check "$how: it builds" cmake --build "$folder"
  check "$how: the embedder runs" "$folder/embedder"
}

prefix=$build_dir
if [ -f "$build_dir/CMakeCache.txt" ]; then
  prefix=$scratch/prefix
  check "cmake --install" cmake --install "$build_dir" --prefix "$prefix"
fi
check "installed dynrun runs" "$prefix/bin/dynrun" --version
use_prefix shared "$prefix"
[ "$prefix" = "$build_dir" ] || bash "$source_dir/in_charge/run.sh" "$prefix" || failures=$((failures + 1))
embed add_subdirectory
embed FetchContent -DBUILD_SHARED_LIBS=OFF -DDYN_INSTALL=ON
if [ "$lane" = all ]; then
  check "static: cmake --install" cmake --install "$scratch/FetchContent" --prefix "$scratch/static_prefix"
  use_prefix static "$scratch/static_prefix" --static
fi
exit $((failures > 0))
