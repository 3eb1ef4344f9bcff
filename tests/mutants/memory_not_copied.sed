# A model in memory is imported again from memory that the caller has taken back.
# file: src/runtime/load/graph.cpp
# target: test_import
# test: an ONNX model in memory outlives*
s/if (reader\.use_count() > 1) reader->keep_copies();//
