# Padding of images that are quantised is the least number, not 0.
# file: graph/passes/products/quantize_products.cpp
# target: test_kernels
# test: precision i8: every instruction set? rows and images have scales of their own
s/constant(static_cast<std::int64_t>(middle))/constant(0)/
