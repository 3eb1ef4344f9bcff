# Products read views in whose rows groups are cut.
# file: graph/fusion/layout.cpp
# target: test_kernels
# test: integer products*
s/grouped_.contains(node.outputs\[0\]) \&\& !in_groups(\*result)/false/
