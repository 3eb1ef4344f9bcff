# A code stands for a number without a sign.
# file: targets/cpu/tile/codes.cpp
# target: test_kernels
# test: weights of 4 bits: every instruction set? random sizes and groups
s/return code < count \/ 2 ? code : code - count;/return count > 0 ? code : 0;/
