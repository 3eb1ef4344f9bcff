# The greater of two unsigned integers is the greater with signs.
# file: targets/llvm/math/math.cpp
# target: test_kernels
# test: dtypes
s/greater ? llvm::Intrinsic::umax :/greater ? llvm::Intrinsic::smax :/
