#!/usr/bin/env bash
# The ONNX project's light CNNs with random weights, dyn beside ONNX Runtime; see light_models.py, which gets the arguments after BUILD_DIR. Before that the self-test of
# compare_models.py, which needs no more.
#
#   bash tests/conformance/light_models.sh BUILD_DIR [--batches 1 4 64] [--sizes 64 317] ...
#
# Without arguments: where DYN_TEST_LANE is all, each network at several batches and sizes; else some of the networks, by a seed, as the file has them.
# What the script needs comes from PyPI, once, and is kept beside BUILD_DIR. Prints "ok NAME", "failed NAME: ..." and "skipped NAME: reason" lines.
set -uo pipefail
build=$(cd "${1:?BUILD_DIR}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
kept=$(dirname "$build")/onnxruntime-packages
packages=(onnx==1.16.2 onnxruntime==1.20.1 'numpy<2.3' 'protobuf<6')

skip() {
  echo "skipped light_models: $1"
  exit 0
}

fetch() {
  rm -rf "$kept" "$kept.new"
  python3 -m pip install --quiet --disable-pip-version-check --only-binary=:all: --target "$kept.new" "${packages[@]}" >"$kept.log" 2>&1 && mv "$kept.new" "$kept"
}

compare() { PYTHONPATH=$kept python3 "$here/light_models.py" --dynrun "$build/bin/dynrun" --data "$kept/onnx/backend/test/data/light" "$@"; }

if [ ! -d "$kept" ]; then
  command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || skip "Python's pip is not installed; scripts/install_packages.sh --tests installs it"
  fetch || skip "ONNX Runtime cannot be installed from PyPI: $(tail -1 "$kept.log")"
fi
names=(bvlc_alexnet densenet121 inception_v1 inception_v2 resnet50 shufflenet squeezenet vgg19 zfnet512)
fewer_models=3
if [ $# -eq 0 ]; then
  if [ "${DYN_TEST_LANE:-default}" = all ]; then
    set -- --batches 1 4 --sizes 64 317
  else
    seed=${DYN_SWEEP_SEED:-$RANDOM}
    echo "DYN_SWEEP_SEED=$seed"
    set -- --models $(shuf -n $fewer_models -e "${names[@]}" --random-source=<(yes "$seed"))
  fi
fi
status=0
PYTHONPATH=$kept python3 "$here/compare_models.py" --self-test || status=1
compare --constant-weights --models squeezenet resnet50 || status=1
compare "$@" || status=1
exit $status
