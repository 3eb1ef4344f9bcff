# The taps of a phase of a transposed convolution are not in reverse.
# file: src/import/onnx/parts/phases.cpp
# target: test_import
# test: imported transposed convolutions of random*
s/(phases.taps\[i\] - 1 - place\[i\])/place[i]/
