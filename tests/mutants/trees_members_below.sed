# Members below the middle one are none.
# file: src/import/onnx/ops/ml/trees.cpp
# target: test_import
# test: imported TreeEnsembles*
s/const bool has_less = first < middle,/const bool has_less = false,/
