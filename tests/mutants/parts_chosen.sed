# A kernel chooses among many parts that lie side by side.
# file: graph/fusion/rules.cpp
# target: test_graph
# test: many parts that are computed elsewhere are not read one by one
s/node.inputs.size() <= few_parts/true/
