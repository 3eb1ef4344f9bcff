# The accumulators of the first vector of a block stand for all of them.
# file: targets/cpu/loop/sliding_windows.cpp
# target: test_kernels
# test: *windows*
s/code\.sweep(pass, bodies\[i\], i, count, accumulators, {})/code.sweep(pass, bodies[i], 0, count, accumulators, {})/
