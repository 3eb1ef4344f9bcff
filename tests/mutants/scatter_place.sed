# A cache takes its new keys at its begin.
# file: src/import/onnx/ops/attention.cpp
# target: test_import
# test: a cache takes new keys*
s/if (node.has(2)) place = place + along(input_expr(node, 2), 0, rank);/;/
