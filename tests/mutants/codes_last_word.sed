# Steps of K behind the last whole word of codes are left out.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_kernels
# test: weights of 4 bits: every instruction set? random sizes and groups
s/CreateSelect(is_whole, number(0), rest), 1, "k1"/CreateSelect(is_whole, number(0), number(0)), 1, "k1"/
