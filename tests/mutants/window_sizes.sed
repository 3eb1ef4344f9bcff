# The product of a window's sizes passes 64 bits.
# file: src/import/onnx/parts/windows/sliding_windows.cpp
# target: test_import
# test: windows whose sizes*
/^  check_sizes(/d
