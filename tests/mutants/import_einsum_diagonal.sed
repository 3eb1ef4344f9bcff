# The diagonal of an einsum goes down the first column.
# file: src/import/onnx/ops/einsum.cpp
# target: test_import
# test: a letter that one operand*
s/place \* size(node, extent + 1)/place * size(node, extent)/
