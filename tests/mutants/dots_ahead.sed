# Tiles with lanes along K ask for the next tile's rows however long they are, so that the lines leave L1 before their use.
# file: targets/cpu/tile/tile_loop.cpp
# target: test_cpu
# test: a tile with lanes along K asks for the rows*
s/most_elements_of_near_dots = (8 << 10)/most_elements_of_near_dots = (128 << 10)/
