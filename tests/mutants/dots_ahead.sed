# Tiles with lanes along K ask for the next tile's rows however long they are, so that the lines leave L1 before their use.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_cpu
# test: a tile with lanes along K asks for the rows*
s/prefetch_near_dot_elements, 0)/prefetch_near_dot_elements * 16, 0)/
