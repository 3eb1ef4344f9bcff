# Sums of all columns of a tile are multiplied by the scales of its first ones.
# file: targets/cpu/tile/tile_loop.hpp
# target: test_kernels
# test: precision i8: every instruction set? rows and images have scales of their own
s/(index - pointer_count()) % static_cast<std::size_t>(vectors_)/(index - pointer_count()) % 1/
