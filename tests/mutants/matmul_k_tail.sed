# The steps of K that the unrolled loop leaves over are dropped.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_kernels
# test: matmul
s/^  state = emit_loop(state, k, 1, "k1");$//
