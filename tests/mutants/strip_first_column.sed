# Of a block within one row of windows the strip begins where the row does.
# file: targets/cpu/move/strip_copy.cpp
# target: test_runtime
# test: every program for a convolution*
s/first_column_ = builder_.CreateMul(builder_.CreateMul(first_window, along.stride), block_.channels);/first_column_ = number(0);/
