# Rows of outputs that do not begin at a multiple of a vector are stored in vectors.
# file: targets/ptx/contraction/vector_outputs.cpp
# target: test_ptx
# test: outputs are stored in vectors*
s|if (axis != n && !whole(slots.stride(operand, axis))) return false;|(void)axis;|
