# Rows that no full tile has are read where the first rows' copies lie.
# file: targets/cpu/contraction/emitter.cpp
# target: test_runtime
# test: every program for a convolution*
s/builder_.CreateNeg(builder_.CreateMul(rows_in_strip_, a_row_))/number(0)/
