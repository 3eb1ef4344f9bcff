# A size that may be 1 in a run counts as the shape's.
# file: src/import/onnx/ops/shape.cpp
# target: test_import
# test: an imported Expand repeats a size*
s/if (!may_repeat) return/return/
