# Sourced by the scripts that compare with ONNX Runtime: Python packages from PyPI, fetched once and kept beside the build folder.

# need_onnxruntime STAGE BUILD_DIR: fetches them. Where that cannot be, prints "skipped STAGE: reason" and exits.
need_onnxruntime() {
  local packages=(onnx==1.16.2 onnxruntime==1.20.1 'numpy<2.3' 'protobuf<6') reason=
  onnxruntime_packages=$(dirname "$2")/onnxruntime-packages
  [ ! -d "$onnxruntime_packages" ] || return 0
  if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
    reason="Python's pip is not installed; scripts/install_packages.sh --tests installs it"
  else
    # Stages that run at once may both fetch; the first one's stay.
    local folder
    folder=$(mktemp -d "$onnxruntime_packages-XXXXXX") &&
      python3 -m pip install --quiet --disable-pip-version-check --only-binary=:all: --target "$folder" "${packages[@]}" >"$onnxruntime_packages.log" 2>&1 ||
      reason="ONNX Runtime cannot be installed from PyPI: $(tail -1 "$onnxruntime_packages.log")"
    [ -n "$reason" ] || mv -T "$folder" "$onnxruntime_packages" 2>/dev/null || [ -d "$onnxruntime_packages" ] || reason="$onnxruntime_packages cannot be made"
    rm -rf "$folder"
  fi
  [ -n "$reason" ] || return 0
  echo "skipped $1: $reason"
  exit 0
}

with_onnxruntime() { PYTHONPATH=$onnxruntime_packages "$@"; }
