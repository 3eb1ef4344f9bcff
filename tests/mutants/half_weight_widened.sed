# Weights of 16 bits are kept as f32.
# file: targets/cpu/move/narrow_weights.cpp
# target: test_runtime
# test: a model of 16-bit floats computes what the reference does*
s/operand.dtype = stays ? operand.held : wanted;/operand.dtype = stays ? wanted : wanted;/
