# A group grows for as long as there are nodes.
# file: graph/fusion/grower.cpp
# target: test_graph
# test: every rule of fusion*
s/work_ + work_of(node) <= most_work/true/
