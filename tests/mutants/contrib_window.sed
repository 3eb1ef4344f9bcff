# A window of keys does not count the query's own place.
# file: src/import/onnx/ops/contrib/group_query_attention.cpp
# target: test_import
# test: GroupQueryAttention appends*
s/sight.left = window - 1;/sight.left = window;/
