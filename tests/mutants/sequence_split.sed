# The last part of a split is as large as the others.
# file: src/import/onnx/sequences.cpp
# target: test_import
# test: imported tensors are split into sequences
s/std::min(size, \*length - begin)/size/
