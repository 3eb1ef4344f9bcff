# Codes that lie across the sums are packed as if they lay along them.
# file: targets/cpu/move/narrow_weights.cpp
# target: test_kernels
# test: codes of a file that lie across the sums*
s/operand.held_coding = {};/(void)0;/
