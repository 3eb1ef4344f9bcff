# Weights that a host decrypts are written to the cache directory without its consent.
# file: src/runtime/weights/weight_source.cpp
# target: test_runtime
# test: weights of a reader without an identity*
s/? !file\.read_file()->identity()\.empty()/? true/
