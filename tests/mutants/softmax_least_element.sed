# softmax subtracts the least element instead of the greatest.
# file: graph/passes/decompose.cpp
# target: test_kernels
# test: reductions
s/reduce("reduce_max", input(0), axis)/reduce("reduce_min", input(0), axis)/
