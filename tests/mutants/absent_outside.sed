# Padding of windows is left out of every product, not of a convolution alone.
# file: src/rkernel/problem/node_lowering.cpp
# target: test_kernels
# test: windows
s/node\.origin == "conv"/true/
