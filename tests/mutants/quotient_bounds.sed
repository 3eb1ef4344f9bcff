# The rest of a quotient that bounds of a sum leave out counts with the other sign.
# file: graph/dims/facts.cpp
# target: test_graph
# test: *bounds*
s/taken = interval_sum(taken, interval_product({0, common - 1}, {-k, -k}));/taken = interval_sum(taken, interval_product({0, common - 1}, {k, k}));/
