# All rows are rescaled by the first row's scale.
# file: targets/cpu/recurrence/step.cpp
# target: test_kernels
# test: recurrent layers by weights of i8? whose states are quantised
s/numbers = quantised_->numbers(row)/numbers = quantised_->numbers(number(0))/
