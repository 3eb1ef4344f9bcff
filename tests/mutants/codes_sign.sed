# A code stands for a number without a sign.
# file: targets/cpu/tile/codes.cpp
# target: test_kernels
# test: weights of 4 bits: every instruction set? random sizes and groups
s/code < table_lanes \/ 2 ? code : code - table_lanes/code/
