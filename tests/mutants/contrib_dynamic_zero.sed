# A product of quantised floats keeps their zero point.
# file: src/import/onnx/parts/integers/integer_product.cpp
# target: test_import
# test: a product of floats? quantised when it runs*
s/, 0, cast(x.zero_point, DType::i32)}/, 0}/
