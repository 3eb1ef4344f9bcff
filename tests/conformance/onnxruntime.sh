# Sourced by the scripts that need ONNX' own package or ONNX Runtime: Python packages from PyPI, fetched once and kept beside the build folder.

onnx_version=1.23.2
onnxruntime_version=1.32.0

# fetch_onnxruntime BUILD_DIR: fetches them. Where that cannot be, it fails, and onnxruntime_missing says why.
fetch_onnxruntime() {
  local packages=("onnx==$onnx_version" "onnxruntime==$onnxruntime_version" 'numpy<2.5' 'protobuf<8') reason=
  onnxruntime_packages=$(dirname "$1")/onnxruntime-$onnxruntime_version
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
  onnxruntime_missing=$reason
  [ -z "$reason" ]
}

# need_onnxruntime STAGE BUILD_DIR: the same, but where that cannot be, prints "skipped STAGE: reason" and exits.
need_onnxruntime() {
  fetch_onnxruntime "$2" && return
  echo "skipped $1: $onnxruntime_missing"
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
