# The number that multiplies the keys of an exporter's attention is left out.
# file: graph/passes/products/find_attention.cpp
# target: test_kernels
# test: attention that exporters write*
s|found.keys = without_scale(matmul->inputs\[1\], found.scale);|double left_out = 1; found.keys = without_scale(matmul->inputs[1], left_out);|
