# Nodes stay where the file has them.
# file: src/import/onnx/reader/needed_nodes.cpp
# target: test_import
# test: nodes may stand before those*
s/if (has_circle) std::ranges::sort(order);/std::ranges::sort(order);/
