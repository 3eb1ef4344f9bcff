# Keys are read in their own bits though their rows are no runs.
# file: graph/passes/products/narrow_attention.cpp
# target: test_graph
# test: attention reads rows of inputs and states*
s/attr_integers(node, "perm").back() == from.rank() - 1/true/
