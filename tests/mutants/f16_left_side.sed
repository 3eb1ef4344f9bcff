# Precision f16 rounds the weights alone.
# file: graph/passes/products/narrow_products.cpp
# target: test_kernels
# test: precision f16*
s/return dtype_ == DType::bf16 ? bits : widened(node, narrow_.at(x));/return dtype_ == DType::bf16 ? bits : x;/
