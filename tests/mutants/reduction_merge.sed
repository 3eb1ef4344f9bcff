# Reductions forget half of their lanes.
# file: targets/llvm/problem/reduction.cpp
# target: test_kernels
# test: reductions
s/left\[i\] = step(left\[i\], left\[i + half\])/left[i] = left[i]/
s/step(builder_.CreateShuffleVector(lanes, low), builder_.CreateShuffleVector(lanes, high));/builder_.CreateShuffleVector(lanes, low);/
