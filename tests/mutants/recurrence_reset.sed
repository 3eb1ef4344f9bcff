# The update gate of a gru works on the state where the reset gate should.
# file: targets/cpu/recurrence/step.cpp
# target: test_kernels
# test: recurrent layers of random options and sizes
s/code_.store(builder_.CreateFMul(gates.reset, state_before(row, column)),/code_.store(builder_.CreateFMul(gates.update, state_before(row, column)),/
