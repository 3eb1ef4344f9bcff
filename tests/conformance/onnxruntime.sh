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

# random_cases STAGE BUILD_DIR SCRIPT.py ARGUMENT...: the cases that the script writes, with what ONNX Runtime makes of them, through dyn.
random_cases() {
  local stage=$1 build=$2 script=$3 status=0 data
  shift 3
  need_onnxruntime "$stage" "$build"
  data=$(mktemp -d "${TMPDIR:-/tmp}/dyn-$stage-XXXXXX")
  if with_onnxruntime python3 "$script" "$data" "$@"; then
    "$build/tests/dyn-conformance" --data "$data" --baseline "$data/names.txt" || status=1
  else
    echo "failed $stage: it made no cases"
    status=1
  fi
  rm -rf "$data"
  return $status
}
