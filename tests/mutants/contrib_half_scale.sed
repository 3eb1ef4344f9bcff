# Numbers by 16-bit scales stay in f32.
# file: src/import/onnx/ops/contrib/integer_products.cpp
# target: test_import
# test: imported operators of several steps round 16-bit floats once
s/convert_matmul_integer_to_float, Halves::InF32, 2/convert_matmul_integer_to_float, Halves::InF32, 0/
