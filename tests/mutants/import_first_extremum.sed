# The last of equal elements is given where the first is asked for.
# file: src/import/onnx/ops/selection.cpp
# target: test_import
# test: an imported place of an extremum*
s/  if (last) return/  if (!last) return/
