# The late tile of the least bound is taken, whatever its cost.
# file: src/choice/gpu/tile_search.cpp
# target: test_ptx
# test: the search finds the cheapest of candidates and late tiles
s/const double seconds = cost(\*bound\.known, sizes);/const double seconds = bound.seconds;/
