# The sum that a normalisation gives lacks its bias.
# file: src/import/onnx/ops/contrib/skip_normalization.cpp
# target: test_import
# test: normalisation of a sum gives the sum too
s/  TensorExpr sum = x + skip;/  TensorExpr sum = x + skip;\n  node.give(sum.id(), sum_output);/;s/^  node.give(sum.id(), sum_output);$//
