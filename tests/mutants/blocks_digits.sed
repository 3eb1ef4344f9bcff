# The two codes of a byte change places.
# file: graph/passes/products/decompose_blocks.cpp
# target: test_kernels
# test: codes of a file are multiplied as they lie*
s/"concat", {low, high}/"concat", {high, low}/
