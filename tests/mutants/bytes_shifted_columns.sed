# What was subtracted from columns of weights is not added again.
# file: src/import/onnx/parts/integers/byte_product.cpp
# target: test_import
# test: imported products of integers are exact for sums of any length
s/sums = sums + \*of_rows \* columns_expr/sums = sums - *of_rows * columns_expr/
