# A field of a graph may be longer than the graph, and takes what is behind it.
# file: src/import/onnx/messages/model_stream.cpp
# target: test_import
# test: messages*
s/if (head\.length > end - at_ - head\.bytes) fail();/if (head.length > size_ - at_ - head.bytes) fail();/
