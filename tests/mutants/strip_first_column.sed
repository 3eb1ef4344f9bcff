# The strip of a block within one row of windows begins where the row does.
# file: targets/cpu/move/strip_copy.cpp
# target: test_runtime
# test: every program for a convolution*
/^  first_column_ =$/,/;$/c\  first_column_ = number(0);
