# A vector of slopes of opset 6 has one for each of the last dim.
# file: src/import/onnx/ops/activation.cpp
# target: test_import
# test: before opset 7 a vector of slopes*
s/node.opset() >= broadcasts_by_shape || dims.size() != 1/node.opset() >= 1 || dims.size() != 1/
