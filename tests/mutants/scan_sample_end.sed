# A Scan before opset 9 takes a step more than a sample's length.
# file: src/import/onnx/batched_scan.cpp
# target: test_import
# test: an early scan ends each sample*
s/add_node(body, "Less", {step/add_node(body, "LessOrEqual", {step/
