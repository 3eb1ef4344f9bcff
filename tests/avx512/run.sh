#!/usr/bin/env bash
# Executes kernels generated for AVX-512: natively where this CPU has it, else on an emulated PC (Bochs).
#
#   bash tests/avx512/run.sh BUILD_DIR [--emulate]
#
# --emulate: on the emulated PC in any case; without it only where DYN_TEST_LANE is all. LLVM is too slow for it: the kernels are generated here
# first, and taken from dyn's own cache of objects there. The same kernels, seed and check program are not executed again once they passed. A
# Debian kernel is downloaded, once; it is kept beside BUILD_DIR. Prints "ok NAME", "failed NAME: ..." and "skipped NAME: reason" lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
emulate=no
case ${2:-} in
  "") ;;
  --emulate) emulate=yes ;;
  *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
check=$build/tests/dyn-avx512-check
work=$build/avx512
kernels=$(dirname "$build")/avx512-kernel
seed=${DYN_SEED:-20260101}
limit_seconds=480

native() {
  local flag
  for flag in avx512f avx512bw avx512dq avx512vl; do grep -qw "$flag" /proc/cpuinfo || return 1; done
}

skip() {  # reason, name
  echo "skipped avx512.${2:-bochs}: $1"
  exit 0
}

require_tools() {
  local tool file
  for tool in bochs xorriso cpio gzip ldd busybox; do
    command -v "$tool" >/dev/null || skip "$tool is not installed; scripts/install_packages.sh installs it"
  done
  for file in /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 /usr/share/bochs/BIOS-bochs-latest \
    /usr/share/bochs/VGABIOS-lgpl-latest; do
    [ -e "$file" ] || skip "$file is not installed; scripts/install_packages.sh installs it"
  done
}

# The newest kernel image that Debian's cloud meta-package names, unpacked but not installed.
fetch_kernel() {
  local package folder
  package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -nE 's/.*Depends: (linux-image-[0-9][^ ]*)$/\1/p' | head -1)
  [ -n "$package" ] || return 1
  folder=$(mktemp -d "$kernels/download-XXXXXX") || return 1
  (cd "$folder" && apt-get download "$package" && dpkg -x ./*.deb .) >"$kernels/download.log" 2>&1 &&
    mv "$folder"/boot/vmlinuz-* "$kernels/"
  local status=$?
  rm -rf "$folder"
  return $status
}

find_kernel() {
  local found
  mkdir -p "$kernels"
  found=$(find "$kernels" -maxdepth 1 -name 'vmlinuz-*' | sort | tail -1)
  [ -n "$found" ] && echo "$found"
}

# The program, stripped, with its libraries where the dynamic linker looks for them.
make_root() {  # folder
  local library
  rm -rf "$1" && mkdir -p "$1/code" || return 1
  strip -o "$1/check" "$check" || return 1
  for library in $(ldd "$check" | grep -oE '/[^ ]+'); do
    mkdir -p "$1$(dirname "$library")" && cp -L "$library" "$1$library" || return 1
  done
  "$check" --seed "$seed" --write-code "$1/code"
}

[ -x "$check" ] || { echo "failed avx512: $check was not built"; exit 1; }
if [ $emulate = no ] && native; then
  echo "note: on this CPU"
  exec "$check" --seed "$seed"
fi
if [ $emulate = no ] && [ "${DYN_TEST_LANE:-default}" != all ]; then skip "this CPU has no AVX-512" native; fi
require_tools
kernel=$(find_kernel) || { fetch_kernel; kernel=$(find_kernel); } || skip "the Debian package linux-image-cloud-amd64 cannot be downloaded"
make_root "$work/root" || { echo "failed avx512.code: the kernels could not be generated"; exit 1; }
digest=$(cd "$work/root" && { echo "$seed"; find check code -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum)
if [ "$(cat "$kernels/passed" 2>/dev/null)" = "$digest" ]; then
  echo "ok avx512: kernels, seed and check program are those that passed before"
  exit 0
fi
echo "note: on an emulated CPU"
start=$SECONDS
bash "$here/emulator.sh" "$work" "$kernel" "$work/root" "$limit_seconds" "/check --seed $seed --code /code"
status=$?
echo "note: emulated in $((SECONDS - start)) s"
[ $status -eq 0 ] && echo "$digest" >"$kernels/passed"
[ $status -eq 0 ] || echo "failed avx512.bochs: status $status; files in $work"
exit $status
