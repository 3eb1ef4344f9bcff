# Micro-kernels that were timed on one number of threads are taken for another.
# file: src/choice/cpu/tuned_pools.cpp
# target: test_cpu
# test: micro-kernels of another policy*
s/ && pool\.threads == machine\.threads//
