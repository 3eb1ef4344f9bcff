# LayerNormalization gives deviations where their reciprocals are asked for.
# file: src/import/onnx/ops/normalization.cpp
# target: test_import
# test: LayerNormalization gives means*
s/node.add("reciprocal", {of.deviation})/of.deviation/
