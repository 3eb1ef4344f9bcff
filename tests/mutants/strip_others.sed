# Rows that no full tile has are read where the first rows' copies lie.
# file: targets/cpu/contraction/tiles.cpp
# target: test_runtime
# test: every program for a convolution*
s/builder_\.CreateNeg(builder_\.CreateMul(block_\.strip->rows, region\.a_row))/code_.number(0)/
