# The bound of a tile's time counts a stage too many, so that late tiles are passed over.
# file: src/choice/gpu/tile_profile.cpp
# target: test_ptx
# test: a tile's profile never exceeds its cost*
s/(steps - 1) \* std::max(load, rates\.stage)/steps * std::max(load, rates.stage)/
