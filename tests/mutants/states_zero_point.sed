# The zero point of a quantised state stays in the sums.
# file: targets/cpu/recurrence/step.cpp
# target: test_kernels
# test: recurrent layers by weights of i8? whose states are quantised
s/builder_.CreateMul(numbers.zero_point, /builder_.CreateMul(builder_.CreateXor(numbers.zero_point, numbers.zero_point), /
