# Pairs are turned the other way.
# file: src/import/onnx/ops/transformer.cpp
# target: test_import
# test: imported rotary places*
s/cosine \* from.first - sine \* from.second/cosine * from.first + sine * from.second/
