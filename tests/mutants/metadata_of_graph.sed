# The documentation of an ONNX model is said to be that of its graph.
# file: src/import/onnx/reader/metadata.cpp
# target: test_import
# test: metadata of an ONNX model*
s/\.description = model\.doc_string()/.description = model.graph().doc_string()/
