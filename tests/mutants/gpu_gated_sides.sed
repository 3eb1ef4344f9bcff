# Both sums of an output are those of the first right side.
# file: targets/ptx/contraction/epilogue.cpp
# target: test_ptx
# test: two right sides in one kernel have the bits of products in memory
s/number(side \* tile_\.columns)/number(0)/
