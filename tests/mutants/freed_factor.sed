# A freed dim that fits several places of a split takes the first of them.
# file: src/import/onnx/sizes/factor_split.cpp
# target: test_import
# test: what was merged is split as it was
s/return solutions_.size() == 1 ? /return !solutions_.empty() ? /
