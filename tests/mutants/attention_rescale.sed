# The accumulator stays as it is where the maximum of a row grows.
# file: targets/cpu/attention_rows.cpp
# target: test_cpu
# test: attention of all sizes, layouts, masks and strategies equals plain loops on every ISA of this CPU
/^  emit_rescale(code, row, factor);/d
