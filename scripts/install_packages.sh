#!/usr/bin/env bash
# Installs what dyn needs to be built and tested, from Debian's own archive, and only what is missing.
# Debian 12 has everything; so have Debian 13 and Ubuntu 24.04.
#   --peers   also the libraries that `dynrun op --peers onednn,openblas,blis` compares with; tests need none of them
set -euo pipefail

packages=(
  ca-certificates git g++ cmake ninja-build
  llvm-19-dev libzstd-dev zlib1g-dev libxml2-dev   # LLVM, and what its static libraries need
  libtbb-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  doctest-dev                                      # tests
)

peers=(libdnnl2 libopenblas0-pthread libblis4-pthread)
if [ "${1:-}" = --peers ]; then
  packages+=("${peers[@]}")
elif [ $# -gt 0 ]; then
  echo "usage: $0 [--peers]" >&2
  exit 2
fi

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "This system is not Debian-like: install these yourself, then run cmake: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing: ${missing[*]}. Run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
