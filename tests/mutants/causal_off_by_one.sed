# A query does not see its own place.
# file: graph/passes/decompose.cpp
# target: test_kernels
# test: attention
s/emit("less_equal", {key, query}/emit("less", {key, query}/
