# x * min(1, y) becomes x for negative x too.
# file: graph/dims/rules_sum.cpp
# target: test_graph
# test: every rule keeps the value*
s/bounds(atom).low >= 0 \&\&$//
