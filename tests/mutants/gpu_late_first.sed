# The late tile of the least bound is taken, whatever its cost.
# file: src/choice/gpu/tile_search.cpp
# target: test_ptx
# test: the search finds the cheapest of candidates and late tiles
s/if (bound\.seconds >= enough) break;/if (bound.seconds >= enough || best.tile >= static_cast<int>(candidates_.size())) break;/
