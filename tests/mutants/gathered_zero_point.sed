# Gathered integers of a table are numbers without their zero point.
# file: src/import/onnx/ops/indexed.cpp
# target: test_import
# test: a table of dequantised integers stays such*
s/if (zero != nullptr \&\& numbers_of(\*zero).front() != 0) whole = whole - numbers_of(\*zero).front();//
