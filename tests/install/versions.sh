#!/usr/bin/env bash
# What libdyn shows, under which versions, and what they mean: with a library of the next minor version, a C program of this one runs
# unchanged, and a C++ program is refused by the loader. Prints "ok NAME" or "failed NAME" lines.
#   tests/install/versions.sh BUILD_DIR
. "$(dirname "$0")/support.sh" "$@"

version=$(sed -nE 's/^project\(dyn VERSION ([0-9]+\.[0-9]+)\..*/\1/p' "$root/CMakeLists.txt")
next=${version%.*}.$((${version#*.} + 1))
library=$build_dir/libdyn.so.$version
c_header=$root/include/dyn/dyn.h

# The names that a library shows, with their versions: NAME@@VERSION, and nothing for the versions themselves.
shown() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }'; }

only_the_api_is_shown() {
  local foreign
  [ "$(shown "$library" | wc -l)" -gt 50 ] || { echo "it shows $(shown "$library" | wc -l) names"; return 1; }
  foreign=$(shown "$library" | grep -vE "^(dyn_[a-z_0-9]+@@DYN_C_1\.[0-9]+|_ZN?K?(TI|TS|TV)?N?K?3dyn[A-Za-z_0-9]+@@DYN_CXX_${version/./\\.})$")
  [ -z "$foreign" ] || { c++filt <<<"$foreign"; return 1; }
}

internals_are_hidden() { ! shown "$library" | c++filt | grep -E 'dyn::(base|graph|rkernel|choice|codegen|vendor|host|cpu|ptx|reference|onnx|runtime)::'; }

# Each function that the header and its parts declare, and no other one.
c_api_is_the_header() {
  diff <(grep -oE '\bdyn_[a-z_0-9]+\(' <(sed 's,/\*.*\*/,,' "$c_header" "${c_header%/*}"/c/*.h | awk '/DYN_C_API/,/;/') | tr -d '(' | sort -u) \
    <(shown "$library" | sed -nE 's/^(dyn_[a-z_0-9]+)@@.*/\1/p' | sort -u)
}

check "the SONAME is that of the minor version" grep -q "\[libdyn\.so\.${version/./\\.}\]" <(readelf -d "$library" | grep SONAME)
check "libdyn shows its API alone, each name with its version" only_the_api_is_shown
check "libdyn hides its internals" internals_are_hidden
[ ! -f "$c_header" ] || check "libdyn shows each function of dyn.h" c_api_is_the_header

# The library's own objects, linked once more as the next minor version would be.
link_next() {
  local command
  mkdir "$scratch/next"
  sed "s/DYN_CXX_${version/./\\.}/DYN_CXX_$next/" "$build_dir/generated/libdyn.map" >"$scratch/next.map"
  command=$(ninja -C "$build_dir" -t commands libdyn.so | grep -E -- '-soname,') || return 1
  command=$(sed -E "s,-soname\,libdyn\.so\.$version,-soname\,libdyn.so.$next,; s,--version-script=[^ ]+,--version-script=$scratch/next.map,
    s, -o [^ ]+, -o $scratch/next/libdyn.so.$next," <<<"$command")
  (cd "$build_dir" && eval "$command") || return 1
  ln -s "libdyn.so.$next" "$scratch/next/libdyn.so.$version"
}

build() {  # compiler, source, standard
  "$1" "-std=$3" -Wall -Wextra -I"$root/include" "$source_dir/$2" -o "$scratch/${2/./_}" "$library"
}
with() { env LD_LIBRARY_PATH="$1" "$scratch/$2"; }

check "a C++ program builds" build c++ main.cpp c++20
check "it runs with its library" with "$build_dir" main_cpp
check "the next minor version is linked" link_next
check "the loader refuses the C++ program with the next minor version" \
  refused "version \`DYN_CXX_${version/./\\.}' not found" with "$scratch/next" main_cpp
if [ -f "$c_header" ]; then
  check "a C program builds" build cc main.c c11
  check "it runs with its library" with "$build_dir" main_c
  check "the same C program runs with the next minor version" with "$scratch/next" main_c
fi
exit $((failures > 0))
