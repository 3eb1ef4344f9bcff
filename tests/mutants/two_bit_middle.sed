# Codes of 2 bits keep their numbers as codes of 4, whose middle is another.
# file: src/import/onnx/ops/contrib/packed_weights.cpp
# target: test_import
# test: weights of 2? 4 and 8 bits in blocks*
s/held == 2 ? (1 << 3) - (1 << 1) : 0/0/
