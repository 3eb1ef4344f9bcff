# An index may be the number of rows.
# file: targets/llvm/problem/operands.cpp
# target: test_kernels
# test: an index out of range is an error
s/builder_.CreateICmpULT(index, extent)/builder_.CreateICmpULE(index, extent)/
