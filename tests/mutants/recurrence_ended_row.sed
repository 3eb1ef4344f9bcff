# A row of a recurrent layer that has ended loses its state.
# file: targets/cpu/recurrence/step.cpp
# target: test_kernels
# test: recurrent layers of random options and sizes
s/code_.store(state_before(row, column), function_.state(place_.after, row, column));/code_.store(code_.splat(0.0), function_.state(place_.after, row, column));/
