# The greatest element is taken out of a sum of exponentials even where it is infinite.
# file: src/import/onnx/ops/reduction.cpp
# target: test_import
# test: the logarithm of a sum of exponentials*
s/finite_or_zero(node, reduce(node, "reduce_max", x, axes, true))/reduce(node, "reduce_max", x, axes, true)/
