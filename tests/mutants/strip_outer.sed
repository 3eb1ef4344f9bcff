# A strip takes rows before or behind an outer axis of one tap from its neighbours instead of zeros.
# file: targets/cpu/move/strip_copy.cpp
# target: test_runtime
# test: every program for*convolution*computes what plain loops do
s/exists = builder_.CreateAnd(exists, builder_.CreateICmpULT(outer, axis.extent));//
