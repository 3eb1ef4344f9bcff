# Two threads may read less than one.
# file: targets/cpu/measure/read_bandwidth.cpp
# target: test_cpu
# test: figures that other programs disturbed*
s/level.bandwidth\[i\] = std::max(level.bandwidth\[i\], level.bandwidth\[i - 1\]);/static_cast<void>(i);/
