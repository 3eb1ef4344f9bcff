# matmul does not compare the inner sizes.
# file: graph/ops/contraction.cpp
# target: test_graph
# test: matmul
s/^  context.require_equal(at(a, a_k), at(b, b_k), dim_name(context, 0, a_k), dim_name(context, 1, b_k));$//
