# Bounds of guards are taken for 31 bits, whatever they are.
# file: targets/ptx/loop/reach.cpp
# target: test_ptx
# test: loop kernels compute in 64 bits where 31 do not hold*
s/double reach = sizes.bound(operand, guard);/double reach = 0;/
