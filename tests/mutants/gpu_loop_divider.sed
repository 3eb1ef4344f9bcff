# The multiplier of a divider is one too small: exact for powers of two alone.
# file: targets/ptx/ir/divider.cpp
# target: test_ptx
# test: dividers of 32 and 64 bits*
s|/ d) + 1, shift|/ d), shift|
