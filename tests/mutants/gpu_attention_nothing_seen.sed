# A row that sees nothing is divided by its sum.
# file: targets/ptx/attention/softmax.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/builder_.CreateFCmpOEQ(sum, number(0)), number(0)/builder_.CreateFCmpOEQ(sum, number(0)), number(minus_infinity)/
