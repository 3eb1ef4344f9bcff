# Whatever windows are multiplied with, what lies outside is left out.
# file: src/rkernel/problem/node_lowering.cpp
# target: test_kernels
# test: windows
s/node\.origin == "conv"/true/
