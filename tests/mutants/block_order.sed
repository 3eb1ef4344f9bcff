# Columns of codes in the order of their blocks multiply a left side in its own.
# file: src/import/onnx/ops/contrib/packed_weights.cpp
# target: test_import
# test: weights of 2? 4 and 8 bits in blocks*
s/finish(is_in_order ? a/finish(true ? a/
