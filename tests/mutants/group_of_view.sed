# Products read views whose rows do not lie along K.
# file: graph/fusion/layout.cpp
# target: test_kernels
# test: integer products*
s/in_runs_.contains(node.outputs\[0\]) \&\& result->strides/false \&\& result->strides/
