# Each column of a direction is scaled as its first.
# file: src/import/onnx/ops/recurrence.cpp
# target: test_import
# test: an LSTM by 8-bit weights*
s/columns() + element % columns()/columns()/
