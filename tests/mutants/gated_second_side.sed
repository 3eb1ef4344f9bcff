# Both products of a gated layer read the first right side.
# file: targets/cpu/contraction/tiles.cpp
# target: test_kernels
# test: gated products in one kernel have the bits of products in memory
s/sides\.panel_stride = sides\.side_stride;/sides.panel_stride = code_.number(0);/
