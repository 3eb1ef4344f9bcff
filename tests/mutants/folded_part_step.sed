# Each element of a part of a weight is taken, whatever the step.
# file: src/import/onnx/parts/folded.cpp
# target: test_import
# test: parts of weights*
s/i \* along.step/i/
