# The argument of 2^x lacks the low part of log2 e.
# file: targets/llvm/math/approximate.cpp
# target: test_ptx
# test: functions by a GPU's approximations are within their bounds over all floats
s/log2_e_low = 1.92596298909e-8/log2_e_low = 0/
