# A pool that halves is taken for one of the whole image.
# file: src/import/onnx/parts/windows/sliding_windows.cpp
# target: test_import
# test: a pool of stride 1*
s/windows.strides\[i\] != 1 || windows.dilations/windows.dilations/
