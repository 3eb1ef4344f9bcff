# A reader of C is released by a load that fails, and its owner releases it again.
# file: src/c/reader.cpp
# target: test_runtime
# test: C: what a reader does wrong is an error*
s/ : lent(functions) {/ : lent(functions) {\n    lent.take();/
