# Tensors that begin where their buffer does have code of their own.
# file: targets/llvm/problem/slots.cpp
# target: test_runtime
# test: a tensor that begins within another needs no function of its own
s/slots.offset = .*/slots.offset = add_unless_zero(operand.offset);/
