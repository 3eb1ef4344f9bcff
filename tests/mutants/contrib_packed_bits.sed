# All integers of a byte are its first.
# file: src/import/onnx/ops/contrib/packed_weights.cpp
# target: test_import
# test: weights of 2? 4 and 8 bits*
s/byte >> (bit % 8)/byte >> 0/
