# The greater of two unsigned integers is the greater with signs.
# file: targets/llvm/math/math.cpp
# target: test_kernels
# test: dtypes
s/is_unsigned(dtype) ? llvm::Intrinsic::umax : llvm::Intrinsic::smax/llvm::Intrinsic::smax/
