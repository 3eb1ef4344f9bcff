# A reduction over a reshape of the group's space sees its axes in another order.
# file: graph/fusion/reduced_place.cpp
# target: test_graph
# test: golden problems
s/coord = coord \* dim_at(extents, axis) + axis_coord(dims, axis);/coord = coord + axis_coord(dims, axis) * dim_at(extents, axis);/
