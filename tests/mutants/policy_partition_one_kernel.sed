# Loop partitioning computes what is left with the first region's kernel.
# file: src/choice/policies/dietcode/alternatives.cpp
# target: test_cpu
# test: loop partitioning has whole blocks*
s/region == 0 ? kernel : best_beside(kernel, part)/kernel/
