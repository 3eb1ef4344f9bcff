# The accumulators of the first vector of a block stand for all of them.
# file: targets/cpu/loop/sliding_windows.cpp
# target: test_kernels
# test: *windows*
s/sweep(pass, bodies\[i\], i, bodies.size(), accumulators, nullptr);/sweep(pass, bodies[i], 0, bodies.size(), accumulators, nullptr);/
