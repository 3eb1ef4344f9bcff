# What stands outside of a tensor is no part of the key of a kernel of windows.
# file: targets/ptx/tile/window_layout.cpp
# target: test_ptx
# test: windows: what stands outside*
s/if (outside != 0) key/if (outside == 1) key/
