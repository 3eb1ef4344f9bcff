# An axis of one element stays apart where strides along it differ.
# file: src/rkernel/problem/axes.cpp
# target: test_graph
# test: an axis of one element joins its neighbour?*
s/const bool any_stride = .*/const bool any_stride = false;/
