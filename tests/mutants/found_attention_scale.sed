# Scores that are divided by a number count as if it multiplied them.
# file: graph/passes/products/find_attention.cpp
# target: test_kernels
# test: attention that is found*
s|scale /= \*divisor;|scale *= *divisor;|
