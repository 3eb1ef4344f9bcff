# Rows of a strip have no padding on their left.
# file: targets/cpu/move/strip_copy.cpp
# target: test_runtime
# test: every program for a convolution*
s/Value\* left = within(padding);/Value* left = number(0);/
