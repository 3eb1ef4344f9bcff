# Sizes that are equal are less.
# file: src/import/onnx/ops/elementwise.cpp
# target: test_import
# test: imported: conditions on sizes are computed as others are
s/return min(truth(a, 1), max(truth(a, 0), b - a));/return min(truth(a, 1), max(truth(a, 0), b - a + 1));/
