# A window that begins before its tensor is copied as if it lay within.
# file: targets/cpu/move/window_copy.cpp
# target: test_kernels
# test: *windows*
s/within = builder_.CreateAnd(within, builder_.CreateICmpSGE(origins_\[i\], number(0)));//
