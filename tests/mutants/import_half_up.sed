# Quantised halves round up.
# file: src/import/onnx/parts/integers/quantization.cpp
# target: test_import
# test: imported numbers become integers*
s/zero_point ? round(x) + \*zero_point : round(x)/zero_point ? floor(x + 0.5) + *zero_point : floor(x + 0.5)/
