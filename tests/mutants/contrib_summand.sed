# What a fused convolution adds is added behind its activation.
# file: src/import/onnx/ops/contrib/fused_product.cpp
# target: test_import
# test: fused convolutions add a tensor before the activation*
s/if (node.has(summand)) y = y + input_expr(node, summand);/if (node.has(summand)) y = activated(y, activation_of_conv(node)) + input_expr(node, summand);/
