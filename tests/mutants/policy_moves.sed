# Papers' programs read A as it lies where it must be moved, without room for its copy.
# file: targets/cpu/policies/micro_kernels.cpp
# target: test_cpu
# test: programs of every policy equal plain loops
s/strategy\.copy_a = shape\.must_copy_a;/strategy.copy_a = false;/
