# The steps of K that the unrolled loop leaves over are dropped.
# file: targets/cpu/main_loop.cpp
# target: test_kernels
# test: matmul
s/^    state = emit_loop(state, builder_.CreateSub(k, whole), 1, "k1");$//
