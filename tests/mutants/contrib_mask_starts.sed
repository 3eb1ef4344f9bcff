# Keys before a sample's first one are seen.
# file: src/import/onnx/ops/contrib/masked_attention.cpp
# target: test_import
# test: Attention projects? and takes masks of every form
s/return both(less(key, of_samples(zero)), less_equal(of_samples(batch), key));/return less(key, of_samples(zero));/
