# Queries stand where they would without a past.
# file: src/import/onnx/ops/attention.cpp
# target: test_import
# test: imported attention*
s/at.query = at.query + size(node, node.type(PastKey).dims\[2\]);/;/
