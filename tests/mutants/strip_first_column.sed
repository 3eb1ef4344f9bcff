# Of a block within one row of windows the strip begins where the row does.
# file: targets/cpu/strip_copy.cpp
# target: test_runtime
# test: every program for a convolution*
s/number(0));$/number(0)); first_window = number(0);/
