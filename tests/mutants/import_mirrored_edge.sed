# A padding that mirrors repeats the edge.
# file: src/import/onnx/ops/padding.cpp
# target: test_import
# test: imported paddings show*
s/abs(mod(position, last \* 2) - last)/abs(mod(position, last * 2 + 1.0) - last)/
