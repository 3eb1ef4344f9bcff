# A prompt that is shorter than the batch's begins before its cache.
# file: src/import/onnx/ops/contrib/group_query_attention.cpp
# target: test_import
# test: GroupQueryAttention appends*
s/before_ = maximum(\(.*\), 0.0);/before_ = \1;/
