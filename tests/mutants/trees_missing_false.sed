# A missing value never counts as true.
# file: src/import/onnx/ops/ml/trees.cpp
# target: test_import
# test: imported regressors walk trees*
s/return node.nan_is_yes ? ask_negated(node, below(-t), yes, no)/return node.nan_is_yes \&\& false ? ask_negated(node, below(-t), yes, no)/
