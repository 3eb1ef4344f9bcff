# The output gate of an lstm sees the cell's state before the step, not after it.
# file: targets/llvm/math/recurrent_cell.cpp
# target: test_kernels
# test: recurrent layers of random options and sizes
s/with_peephole(sum(output_gate), output_peephole, next)/with_peephole(sum(output_gate), output_peephole, c)/
