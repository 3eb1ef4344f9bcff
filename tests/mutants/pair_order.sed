# A right side of bf16 that arrives with the call: the elements of a pair change places.
# file: targets/cpu/move/group_panels.cpp
# target: test_kernels
# test: models of bf16*
s/interleaved(rows\[0\], rows\[1\], lanes_)/interleaved(rows[1], rows[0], lanes_)/
