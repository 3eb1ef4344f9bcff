# Sums that an i32 may not hold are added up in one.
# file: graph/passes/products/quantize_products.cpp
# target: test_kernels
# test: precision i8: sums that no i32 holds*
s/.high <= greatest_depth/.high >= 0/
