# The axis of the group stands before that of the heads which have keys, in masks and queries.
# file: graph/passes/products/share_heads.cpp
# target: test_kernels
# test: attention whose keys are repeated*
s/\*at = group;/*at = heads;/; s/of.insert(at, heads);/of.insert(at, group);/
