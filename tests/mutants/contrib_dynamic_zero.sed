# A product of quantised floats keeps their zero point.
# file: src/import/onnx/ops/contrib/integer_products.cpp
# target: test_import
# test: a product of floats? quantised when it runs*
s/a.whole - a.zero_point/a.whole/
