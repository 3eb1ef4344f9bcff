#!/usr/bin/env bash
# Debian packages and a tarball of BUILD_DIR: what is in them, what they need, what lintian says, and that they work in a bare Debian 12.
# Prints "ok NAME", "failed NAME" or "skipped NAME" lines.
#   tests/install/packages.sh BUILD_DIR [BARE_DIR]
# BARE_DIR keeps the bare system for the next time; one that is there is used.
. "$(dirname "$0")/support.sh" "$@"
bare=${2:-$scratch/bare}
version=$(sed -nE 's/^project\(dyn VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
abi=${version%.*}
packages=$scratch/packages
library=$packages/libdyn${abi}_${version}_amd64.deb
development=$packages/libdyn-dev_${version}_amd64.deb
tools=$packages/dyn-tools_${version}_amd64.deb

check "cpack makes the packages" eval '(cd "$build_dir" && cpack -B "$packages") && ls "$library" "$development" "$tools" "$packages"/dyn-"$version"-*.tar.gz'
[ "$failures" -eq 0 ] || exit 1

field() { dpkg-deb -f "$1" "$2"; }
holds() { dpkg-deb -c "$1" | awk '{ print $6 }'; }
dependencies() {
  field "$library" Depends | grep -E 'libc6 .*libtbb12' || return 1
  ! field "$library" Depends | grep -E 'protobuf|libllvm' || { echo "LLVM and protobuf are inside"; return 1; }
  [ "$(field "$development" Depends)" = "libdyn$abi (= $version)" ] || { field "$development" Depends; return 1; }
  field "$tools" Depends | grep -E 'libxgboost0'
}
contents() {
  local package
  holds "$library" | grep -E "/libdyn\.so\.$abi$" || return 1
  ! holds "$library" | grep -E '/libdyn\.so$|/include/|/bin/' || return 1
  holds "$development" | grep -E '/include/dyn/dyn\.hpp$' && holds "$development" | grep -E '/pkgconfig/dyn\.pc$' || return 1
  holds "$tools" | grep -E '/bin/dynrun$' && holds "$tools" | grep -E '/man1/dynrun\.1\.gz$' || return 1
  for package in "$library" "$development" "$tools"; do
    dpkg-deb --ctrl-tarfile "$package" | tar -t | grep -F md5sums && holds "$package" | grep -E '/copyright$' || return 1
  done
  dpkg-deb --ctrl-tarfile "$library" | tar -xO ./shlibs | grep -F "libdyn $abi libdyn$abi (>= $version)"
}
check "each package needs what it uses" dependencies
check "each package holds what it should" contents
if command -v lintian >/dev/null; then
  # Whoever publishes the packages says with DYN_PACKAGE_CONTACT whom to write to.
  check "lintian finds no error" lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
    "$library" "$development" "$tools"
else
  echo "skipped packages.lintian: lintian is not installed"
fi

from_tarball() {
  mkdir "$scratch/tarball" && tar -xf "$packages"/dyn-"$version"-*.tar.gz -C "$scratch/tarball" --strip-components=1 &&
    "$scratch/tarball/bin/dynrun" --version
}
check "the tarball works where it is unpacked" from_tarball

# --- in a bare Debian -----------------------------------------------------------------------------

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null || ! unshare --mount true; then
  echo "skipped packages.bare: debootstrap is not installed, this is not root, or it may not mount"
  exit $((failures > 0))
fi
if [ ! -x "$bare/usr/bin/apt-get" ] && ! debootstrap --variant=minbase --include=ca-certificates bookworm "$bare" >"$scratch/debootstrap" 2>&1; then
  echo "skipped packages.bare: no bare Debian to be had: $(tail -1 "$scratch/debootstrap")"
  exit $((failures > 0))
fi
# What is mounted is seen by these commands alone, and is gone with them: /proc, in which dynrun looks for its own file, and what ccache has.
inside() {
  unshare --mount sh -ec 'bare=$1 cache=$2; shift 2
    mount -t proc proc "$bare/proc"
    mkdir -p "$bare/ccache"; [ ! -d "$cache" ] || mount --bind "$cache" "$bare/ccache"
    exec chroot "$bare" "$@"' inside "$bare" "$(ccache --get-config cache_dir 2>/dev/null)" \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CCACHE_DIR=/ccache DEBIAN_FRONTEND=noninteractive \
    DYN_CACHE_DIR=none "$@"
}
# What a program needs to be built with the packages, and later what dyn needs to be built.
fresh() {
  rm -rf "$bare/dyn" && mkdir -p "$bare/dyn/tests" && cp "$packages"/*.deb "$bare/dyn" && cp -r "$source_dir" "$root/tests/plugins" "$bare/dyn/tests" &&
    python3 "$root/tests/plugins/plugged_onnx.py" >"$bare/dyn/tests/plugins/plugged.onnx" && inside apt-get update -qq
}
installed() { inside sh -c 'apt-get install -y -qq --no-install-recommends /dyn/libdyn*.deb g++ cmake make pkg-config'; }
tools_installed() { inside sh -c 'apt-get install -y -qq --no-install-recommends /dyn/dyn-tools*.deb' && inside dynrun --version && inside dynrun devices --threads 1; }
by_pkgconfig() { inside sh -ec 'cd /dyn/tests/install; c++ -std=c++20 main.cpp $(pkg-config --cflags --libs dyn) -o /dyn/by_pkgconfig; /dyn/by_pkgconfig'; }
by_cmake() { inside sh -ec 'cd /dyn; cmake -B build -DCMAKE_BUILD_TYPE=Release tests/install; cmake --build build; build/embedder'; }
in_c() { inside sh -ec 'cd /dyn/tests/install; cc -std=c11 main.c $(pkg-config --cflags --libs dyn) -o /dyn/in_c; /dyn/in_c'; }
# All that the library is built of.
sources() {
  local ccache=()
  ! command -v ccache >/dev/null || ccache=(ccache)
  cp -r "$root"/{cmake,graph,include,packaging,scripts,src,targets,CMakeLists.txt,CMakePresets.json,LICENSE,README.md} "$bare/dyn" &&
    inside bash /dyn/scripts/install_packages.sh && inside apt-get install -y -qq --no-install-recommends "${ccache[@]}" ninja-build
}
removed() {
  inside apt-get purge -y -qq "libdyn$abi" libdyn-dev dyn-tools
  ! find "$bare/usr" -path '*dyn/*.hpp' -o -name 'libdyn*' -o -name 'dynrun*' | grep .
}
check "a bare Debian is there" fresh
check "apt installs the library and what programs need" installed
check "a program is built there by pkg-config, and runs" by_pkgconfig
check "a program is built there by CMake, and runs" by_cmake
check "a C program is built there, and runs" in_c
check "apt installs the tools, and they run" tools_installed
inside bash /dyn/tests/install/in_charge/run.sh /usr || failures=$((failures + 1))
check "apt installs what dyn is built with" sources
inside bash /dyn/tests/install/run.sh /usr --all || failures=$((failures + 1))
check "apt removes all of it" removed
exit $((failures > 0))
