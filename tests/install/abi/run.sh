#!/usr/bin/env bash
# The public ABI against its description, tests/install/abi/libdyn.abi: abidiff finds what a program that was built before would not survive.
# Prints "ok NAME", "failed NAME" or "skipped NAME" lines.
#   tests/install/abi/run.sh BUILD_DIR [--renew]
# --renew writes the description anew: when a version has been published, and, before it is, after a change that is meant. What abidiff says
# of the change belongs into CHANGELOG.md.
. "$(dirname "$0")/../support.sh" "$@"
description=$source_dir/abi/libdyn.abi
suppressions=$source_dir/abi/suppressions.ini

if ! command -v abidiff >/dev/null; then
  echo "skipped install.abi: abidiff is not installed"
  exit 0
fi

# The release has no debug information, which has the types. So the files that implement the public functions are compiled with it, into a
# library of the same names whose insides are missing.
implementation() {
  local part objects=()
  for part in base runtime c; do
    [ -d "$root/src/$part" ] || continue
    (cd "$root" && grep -rlE '^namespace dyn \{|^extern "C"|DYN_C_API' --include='*.cpp' "src/$part" | LC_ALL=C sort) |
      sed 's/.*/#include "&"/' >"$scratch/$part.cpp"
    ${CXX:-c++} -std=c++20 -g -O0 -w -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -DFMT_SHARED -I"$root" -I"$root/include" \
      -c "$scratch/$part.cpp" -o "$scratch/$part.o" || return 1
    objects+=("$scratch/$part.o")
  done
  ${CXX:-c++} -shared -Wl,-soname,"$(basename "$(readlink "$build_dir/libdyn.so")")" -Wl,--version-script="$build_dir/generated/libdyn.map" \
    "${objects[@]}" -o "$scratch/libdyn.so"
}
names() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort; }
same_names() { diff <(names "$scratch/libdyn.so") <(names "$build_dir/libdyn.so"); }
describe() {
  timeout 600 abidw --exported-interfaces-only --suppressions "$suppressions" --headers-dir "$root/include/dyn" --drop-private-types \
    --no-comp-dir-path --no-corpus-path --short-locs --no-elf-needed --no-parameter-names --type-id-style hash --out-file "$1" "$scratch/libdyn.so"
}
# Exit codes: 0 none, 4 a change, 8 one that breaks programs; what was added breaks none.
compare() {
  timeout 600 abidiff --suppressions "$suppressions" --exported-interfaces-only --headers-dir1 "$root/include/dyn" --headers-dir2 "$root/include/dyn" \
    --no-added-syms --fail-no-debug-info "$description" "$scratch/libdyn.so"
}

check "the implementation of the public functions builds" implementation
check "it has the names that libdyn shows" same_names
if [ "${2:-}" = --renew ]; then
  check "the description is written" describe "$description"
fi
check "the ABI is that of the description; --renew is for a change that is meant" compare
exit $((failures > 0))
