# A reader of C is released by a load that fails, and its owner releases it again.
# file: src/c/reader.cpp
# target: test_runtime
# test: C: what a reader does wrong is an error*
s/bool kept_ = false;/bool kept_ = true;/
