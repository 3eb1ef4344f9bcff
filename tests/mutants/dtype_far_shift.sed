# A shift to the right by more than an integer's bits is none.
# file: targets/llvm/math/math.cpp
# target: test_kernels
# test: dtypes
s/CreateSelect(inside, b, bits(a, width - 1))/CreateSelect(inside, b, bits(a, 0))/
