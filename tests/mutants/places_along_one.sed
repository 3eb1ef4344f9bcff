# An axis of one element has another place for who reads it than for who computes it.
# file: graph/fusion/grower.cpp
# target: test_graph
# test: along an axis of one element nothing is elsewhere
s/return std::ranges::equal(a, b, {}, without_single, without_single);/return a == b;/
