# A text for one branch takes the sizes of the other.
# file: src/import/onnx/node_decisions.cpp
# target: test_import
# test: imported: a text that stands alone refuses sizes that its branch*
s/answer ? one - condition : condition/answer ? condition : one - condition/
