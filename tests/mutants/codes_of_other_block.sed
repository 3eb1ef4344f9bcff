# Code for blocks of one size is taken for those of another.
# file: targets/llvm/problem/structure_key.cpp
# target: test_kernels
# test: weights of 4 bits: every instruction set? random sizes and groups
s/if (operand.coding)/if (false)/
