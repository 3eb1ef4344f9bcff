# Pairs are turned the other way.
# file: src/import/onnx/parts/rotary.cpp
# target: test_import
# test: imported rotary places*
s/turns.cosine \* from.first - turns.sine \* from.second/turns.cosine * from.first + turns.sine * from.second/
