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
. "$here/onnxruntime.sh"
need_onnxruntime light_models "$build"

compare() { with_onnxruntime python3 "$here/light_models.py" --dynrun "$build/bin/dynrun" --data "$onnxruntime_packages/onnx/backend/test/data/light" "$@"; }

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
with_onnxruntime python3 "$here/compare_models.py" --self-test || status=1
compare --constant-weights --models squeezenet resnet50 || status=1
compare "$@" || status=1
exit $status
