# Sourced by the scripts that draw models, run them in ONNX Runtime, and compare: each has a Python script of its own name.

# begin_random COUNT FEW MANY BUILD_DIR [ARGUMENT...]: sets build, here, and the arguments: those given, or --COUNT MANY where DYN_TEST_LANE is all, else --COUNT FEW, by a
# seed that is printed (DYN_SEED sets it). What a script needs comes from PyPI, once, as for light_models.sh.
begin_random() {
  local count=$1 few=$2 many=$3 seed=${DYN_SEED:-$RANDOM}
  build=$(cd "${4:?BUILD_DIR}" && pwd) || exit 2
  shift 4
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  . "$here/onnxruntime.sh"
  echo "DYN_SEED=$seed"
  [ "${DYN_TEST_LANE:-default}" != all ] || few=$many
  [ $# -gt 0 ] || set -- "--$count" "$few" --seed "$seed"
  arguments=("$@")
}

# compare_random NAME COUNT FEW MANY BUILD_DIR [ARGUMENT...]: the cases that NAME.py writes.
compare_random() {
  local name=$1
  shift
  begin_random "$@"
  random_cases "$name" "$build" "$here/$name.py" "${arguments[@]}"
}
