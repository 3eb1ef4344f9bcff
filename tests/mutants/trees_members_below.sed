# Members are looked for above the middle one alone.
# file: src/import/onnx/ops/ml/trees.cpp
# target: test_import
# test: imported TreeEnsembles*
s/      ranges.push_back({first, middle, slots + 1});/      children_[slots + 1] = end() + 1; ranges.push_back({middle, last, slots + 1});/
