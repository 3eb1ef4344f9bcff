# The accumulator stays as it is where the maximum of a row grows.
# file: targets/cpu/attention/rows.cpp
# target: test_cpu
# test: attention of all sizes*
/^  emit_rescale(code, row, factor);/d
