# The one instruction of AVX-512 scales the result of exp by twice as much.
# file: targets/llvm/math/parts.cpp
# target: test_codegen
# needs: avx512f
# test: unary functions are accurate over all floats
s/{fraction, n, fraction, builder_.getInt16(0xffff)/{fraction, builder_.CreateFAdd(n, number(n, 1)), fraction, builder_.getInt16(0xffff)/
