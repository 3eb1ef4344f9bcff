# Only the first statement that an ONNX node becomes has its name.
# file: src/import/onnx/converter.cpp
# target: test_import
# test: every statement has the node*
s/^        state_.builder.node_count(),$/        std::min(first_new + 1, state_.builder.node_count()),/
