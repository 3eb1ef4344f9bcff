# A part that others read too is computed in its place.
# file: graph/fusion/append_place.cpp
# target: test_graph
# test: a part that cannot be computed*
s/graph\.readers(graph\.root(part))\.size() == 1/true/
