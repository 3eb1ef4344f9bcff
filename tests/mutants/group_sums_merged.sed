# Sums of slices of K replace each other.
# file: targets/cpu/contraction/merge.cpp
# target: test_kernels
# test: integer products*
s/: builder_.CreateAdd(slices.carried(0), slice)/: builder_.CreateOr(slices.carried(0), slice)/
