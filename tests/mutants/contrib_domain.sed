# Operators of com.microsoft are looked for among the standard ones.
# file: src/import/onnx/ops/registry.cpp
# target: test_import
# test: an operator is found in its own domain alone
s/domain == microsoft_domain ? &microsoft_operators() : nullptr/\&standard_operators()/
