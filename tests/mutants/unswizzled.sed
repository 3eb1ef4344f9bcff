# Tiles in shared memory lie as rows, and their rows begin at the same banks.
# file: targets/ptx/tile/shared_tile.cpp
# target: test_ptx
# test: the kernels of all tiles meet no bank twice*
s/tile.swizzled . std::gcd/false ? std::gcd/
