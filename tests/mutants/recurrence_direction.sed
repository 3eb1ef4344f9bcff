# The second direction of a recurrent layer begins at the end of the longest row, whatever the row's length.
# file: targets/cpu/recurrence/step.cpp
# target: test_kernels
# test: recurrent layers of random options and sizes
s/function_.at(recurrence_.t, time_of(length), cells);/function_.at(recurrence_.t, time_of(function_.extent(recurrence_.t)), cells);/
