# A forward Fourier transform of known sizes is the inverse one.
# file: src/import/onnx/ops/signal.cpp
# target: test_import
# test: an imported Fourier transform*
s/(transform.inverse ? 1 : -1)/(transform.inverse ? 1 : 1)/
