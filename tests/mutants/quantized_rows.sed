# All rows of a matrix have one scale.
# file: graph/passes/products/quantize_products.cpp
# target: test_kernels
# test: precision i8: every instruction set? rows and images have scales of their own
s/OpId::Matmul ? rank - 1 : 1/OpId::Matmul ? rank - 2 : 1/
