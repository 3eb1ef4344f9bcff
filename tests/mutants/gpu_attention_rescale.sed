# Accumulators keep the scale of the first maximum.
# file: targets/ptx/attention/softmax.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/^  scale(state.accumulators, factors);$//
