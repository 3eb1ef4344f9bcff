# Zero points of packed codes count from 0, the codes themselves from the middle.
# file: targets/cpu/move/pack.cpp
# target: test_kernels
# test: codes of a file are multiplied as they lie*
s/zero_at(place(n, block)) - middle_/zero_at(place(n, block))/
