# Indices of imported gathers are not checked, nor counted from the end.
# file: src/import/onnx/parts/tensor_expr.cpp
# target: test_import
# test: imported elements by indices*
s/return gather(range(indices.node(), extent), indices, 0);/return static_cast<void>(extent), indices;/
