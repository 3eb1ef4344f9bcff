# A range that counts down lacks its last number.
# file: src/import/onnx/ops/constant.cpp
# target: test_import
# test: a dim is inserted? and ranges count*
s/(reach - 1) \/ step + 1/reach \/ step/
