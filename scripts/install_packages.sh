#!/usr/bin/env bash
# Installs what dyn needs to be built and tested, from Debian's own archive, and only what is missing.
# Debian 12 has everything; so have Debian 13 and Ubuntu 24.04.
#   --peers   also the libraries that `dynrun op --peers onednn,openblas,blis` compares with; tests need none of them, but those of policy vendor are skipped without oneDNN
#   --packages  also what cpack needs to make packages
#   --tests   also what the tests need: clang and its sanitizers, a fast linker, clang-format, clang-tidy, Chromium for the pages of dynrun report, pip for what comes from PyPI, and, where this system has it, the
#             emulated CPU of tests/avx512, without which that test is skipped
set -euo pipefail

packages=(
  ca-certificates git g++ cmake ninja-build
  llvm-19-dev libzstd-dev zlib1g-dev libxml2-dev   # LLVM, and what its static libraries need
  libtbb-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  libeigen3-dev libxgboost-dev                    # the tuner
  libprotozero-dev                                # ONNX files
  doctest-dev                                      # tests
)
emulator_packages=(bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso busybox-static cpio)  # and what its CD is made of

packaging=(dpkg-dev file)
peers=(libdnnl2 libopenblas0-pthread libblis4-pthread)
optional=()  # what tests are skipped without
for option in "$@"; do
  case $option in
    --peers) packages+=("${peers[@]}") ;;
    --packages) packages+=("${packaging[@]}") ;;
    --tests)
      packages+=(clang-19 libclang-rt-19-dev lld-19 libprotobuf-dev)
      python3 -m pip --version >/dev/null 2>&1 || optional+=(python3-pip)
      python3 -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null || optional+=(python3-dev)
      python3 -c 'import ensurepip' 2>/dev/null || optional+=(python3-venv)
      optional+=(clang-format-19 clang-tidy-19 chromium abigail-tools "${packaging[@]}" lintian debootstrap zsh fish man-db "${emulator_packages[@]}")
      ;;
    *) echo "usage: $0 [--packages] [--peers] [--tests]" >&2; exit 2 ;;
  esac
done

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "This system is not Debian-like: install these yourself, then run cmake: ${packages[*]}" >&2
  exit 1
fi

missing=() missing_optional=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
for package in "${optional[@]}"; do
  installed "$package" || missing_optional+=("$package")
done
if [ ${#missing[@]} -eq 0 ] && [ ${#missing_optional[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing: ${missing[*]} ${missing_optional[*]}. Run as root: apt-get install ${missing[*]} ${missing_optional[*]}" >&2
    [ ${#missing[@]} -eq 0 ]
    exit
  fi
  as_root=(sudo)
fi

install() {
  echo "Installing $*" >&2
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >&2
}
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq >&2
[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
[ ${#missing_optional[@]} -eq 0 ] || install "${missing_optional[@]}" || echo "Without them some tests are skipped, which tests/skips.txt names" >&2
