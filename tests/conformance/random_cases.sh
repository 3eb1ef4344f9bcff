# Sourced by the scripts that draw models, run them in ONNX Runtime, and compare: each has a Python script of its own name.

# compare_random NAME FEW MANY BUILD_DIR [--graphs N] [--seed N]: without the last arguments MANY graphs where DYN_TEST_LANE is all, else FEW, by a seed that is printed
# (DYN_SEED sets it). What the script needs comes from PyPI, once, as for light_models.sh.
compare_random() {
  local name=$1 few=$2 many=$3 build here seed=${DYN_SEED:-$RANDOM}
  build=$(cd "${4:?BUILD_DIR}" && pwd) || exit 2
  shift 4
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  . "$here/onnxruntime.sh"
  echo "DYN_SEED=$seed"
  [ "${DYN_TEST_LANE:-default}" != all ] || few=$many
  [ $# -gt 0 ] || set -- --graphs "$few" --seed "$seed"
  random_cases "$name" "$build" "$here/$name.py" "$@"
}
