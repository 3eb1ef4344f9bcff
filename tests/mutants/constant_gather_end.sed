# A constant index that counts from the end counts from the start.
# file: graph/passes/identities.cpp
# target: test_runtime
# test: a constant index chooses its slice?*
s/index.integer < 0 ? dim + index.integer : dims.constant(index.integer)/dims.constant(index.integer < 0 ? 0 : index.integer)/
