# Parts of the keys are merged as if all had the same maximum.
# file: targets/ptx/attention/outputs.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/builder_.CreateFMul(sums\[part\], softmax_.weight(maxima\[part\], all))/sums[part]/
