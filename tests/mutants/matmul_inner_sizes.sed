# matmul does not compare the inner sizes.
# file: graph/ops/contraction.cpp
# target: test_graph
# test: matmul
/^  context.require_equal(at(a, a_k), at(b, b_k),/,/;$/d
