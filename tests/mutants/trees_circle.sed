# A tree may have a circle.
# file: src/import/onnx/ops/ml/trees.cpp
# target: test_import
# test: broken ensembles*
s/} else if (!is_done_\[node\]) {/} else if (false) {/
