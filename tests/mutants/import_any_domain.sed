# Operators of every domain are the standard ones.
# file: src/import/onnx/ops/registry.cpp
# target: test_import
# test: an operator belongs to its domain
s/if (is_standard(domain)) return \&standard_operators();/if (domain != microsoft_domain) return \&standard_operators();/
