# A share of less than a half is enough for the second class.
# file: src/import/onnx/ops/ml/tree_classifier.cpp
# target: test_import
# test: two classes share*
s/are_shares ? 0.5 : 0/are_shares ? 0.1 : 0/
