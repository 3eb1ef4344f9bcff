# A block of weights has a scale that is twice as large as it need be.
# file: src/rkernel/expr/block_coder.cpp
# target: test_kernels
# test: weights of 4 bits: every instruction set? random sizes and groups
s/scales_\[n\] = extremes_\[n\] \/ code/scales_[n] = 2 * extremes_[n] \/ code/
