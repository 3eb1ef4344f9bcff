# A slice of an ONNX model that goes backwards begins one element too late.
# file: src/import/onnx/ops/view.cpp
# target: test_import
# test: imported parts*
s/cut.start = extent - 1 - cut.start;/cut.start = extent - cut.start;/
