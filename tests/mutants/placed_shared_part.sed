# A part that others read too is computed in its place.
# file: graph/fusion/layout.cpp
# target: test_graph
# test: a part that cannot be computed*
s/ || graph_\.readers(root)\.size() != 1//
