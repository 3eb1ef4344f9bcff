# Windows with padding after the axis alone are read there.
# file: src/rkernel/problem/node_lowering.cpp
# target: test_kernels
# test: windows
s/if (windows\[i\].is_padded())/if (windows[i].before.constant() != 0)/
