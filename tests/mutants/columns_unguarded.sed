# Each of the tensors that a product's columns go to receives all of them.
# file: src/rkernel/problem/group_lowering.cpp
# target: test_graph
# test: golden problems
s/with_guard({}, group_\.output_coords\[i\]\.back(), dims_of(id)\.back());/{};/
