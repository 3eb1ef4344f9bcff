# What counts as 0 in bytes that codes multiply is one less than it is.
# file: targets/cpu/move/narrow_weights.cpp
# target: test_kernels
# test: precision i8: every instruction set? rows and images have scales of their own
s/static_cast<double>(problem.contraction->zero)/static_cast<double>(problem.contraction->zero - 1)/
