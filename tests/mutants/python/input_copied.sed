# A run copies dense memory.
# file: src/python/bindings/arrays/strided.cpp
# test: test_a_run_reads_dense_memory
s/  if (is_dense \&\& (strided.is_aligned() .*/  if (is_dense \&\& layout != Layout::copy)/
