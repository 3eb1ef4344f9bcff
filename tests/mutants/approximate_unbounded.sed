# The exponent of e^x wraps around where x is large.
# file: targets/llvm/math/approximate.cpp
# target: test_ptx
# test: functions by a GPU's approximations are within their bounds over all floats
s/if (bounded) shifted = /if (!bounded) shifted = /
