# Unsigned integers are widened as if they had a sign.
# file: targets/llvm/math/math.cpp
# target: test_kernels
# test: dtypes
s/CreateIntCast(value, type, !is_unsigned(from))/CreateIntCast(value, type, true)/
