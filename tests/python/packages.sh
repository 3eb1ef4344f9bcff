# Sourced by the scripts that build or test the Python package: what they need from PyPI, fetched once and kept beside the build folder.

python_package_versions=(nanobind==3.1.0 pytest==9.2.0 mypy==2.4.1 tokenizers==0.23.3)

# fetch_python_packages BUILD_DIR: fetches them. Where that cannot be, it fails, and python_missing says why.
fetch_python_packages() {
  local digest folder
  digest=$(printf '%s\n' "${python_package_versions[@]}" | sha256sum | cut -c1-8)
  python_packages=$(dirname "$1")/python-packages-$digest
  python_missing=
  if ! python3 -m pip --version >/dev/null 2>&1; then
    python_missing="Python's pip is not installed; scripts/install_packages.sh --tests installs it"
  elif ! python3 -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
    python_missing="Python's headers are not installed; scripts/install_packages.sh --tests installs them"
  elif [ ! -d "$python_packages" ]; then
    # Stages that run at once may both fetch; the first one's stay. The example needs no more of tokenizers than it has without other packages.
    mkdir -p "$(dirname "$python_packages")"
    folder=$(mktemp -d "$python_packages-XXXXXX") &&
      python3 -m pip install --quiet --disable-pip-version-check --only-binary=:all: --target "$folder" "${python_package_versions[@]:0:3}" >"$python_packages.log" 2>&1 &&
      python3 -m pip install --quiet --disable-pip-version-check --only-binary=:all: --no-deps --target "$folder" "${python_package_versions[@]:3}" >>"$python_packages.log" 2>&1 ||
      python_missing="packages cannot be installed from PyPI: $(tail -1 "$python_packages.log")"
    [ -n "$python_missing" ] || mv -T "$folder" "$python_packages" 2>/dev/null || [ -d "$python_packages" ] || python_missing="$python_packages cannot be made"
    rm -rf "$folder"
  fi
  [ -z "$python_missing" ]
}

# python_options BUILD_DIR: what CMake is told to build the package, or not to.
python_options() {
  if fetch_python_packages "$1" >&2; then
    echo "-DDYN_PYTHON=ON -DPython_EXECUTABLE=$(python3 -c 'import sys; print(sys.executable)') -Dnanobind_DIR=$(realpath "$python_packages")/nanobind/cmake"
  else
    echo "-DDYN_PYTHON=OFF"
  fi
}
