# Windows that do not reach an element add to it.
# file: src/import/onnx/ops/rearrangement.cpp
# target: test_import
# test: imported columns of windows*
s/where(reshape(covers, mask), parts, 0.0)/parts/
