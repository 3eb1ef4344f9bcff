# Bytes less their zero points are multiplied as bytes.
# file: graph/passes/products/constant_products.cpp
# target: test_kernels
# test: codes of a file are multiplied as they lie*
s/source.bits == 8 && source.parts.size() > 2/source.bits == 0/
