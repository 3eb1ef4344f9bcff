# Parts of a concatenation are all written at its start.
# file: graph/fusion/append_place.cpp
# target: test_graph
# test: results are computed in their places
s/place\.offset = place\.offset + .*;/place.offset = place.offset;/
