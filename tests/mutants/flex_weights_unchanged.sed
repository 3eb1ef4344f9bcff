# FlexAttention leaves out the graph for weights.
# file: src/import/onnx/flex_attention.cpp
# target: test_import
# test: flexible attention: plain*
s/modified(context, "prob_mod", softmax.id())/softmax.id()/
