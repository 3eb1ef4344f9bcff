# Padding fills the first element of each group alone.
# file: targets/cpu/move/group_factors.cpp
# target: test_kernels
# test: integer products*
s/for (int i = 0; i < size; ++i) all/for (int i = 0; i < 1; ++i) all/
