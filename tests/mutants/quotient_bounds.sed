# The rest of a quotient that bounds of a sum leave out counts with the other sign.
# file: graph/dim_facts.cpp
# target: test_graph
# test: *bounds*
s/taken = add(taken, multiply({0, common - 1}, {-k, -k}));/taken = add(taken, multiply({0, common - 1}, {k, k}));/
