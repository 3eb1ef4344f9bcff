# Each frequency of half a spectrum stands for itself alone.
# file: src/import/onnx/ops/signal.cpp
# target: test_import
# test: half a spectrum*
s/const bool is_twice = transform.to_real \&\& n != 0 \&\& 2 \* n != length;/const bool is_twice = false;/
