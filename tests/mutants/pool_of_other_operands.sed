# Micro-kernels that were timed with other operands are taken.
# file: targets/cpu/policies/paper_policies.cpp
# target: test_cpu
# test: a tuner's blocks are taken for operands as they were timed with*
s/key\.second\.timed()/choice::BlockOperands()/
