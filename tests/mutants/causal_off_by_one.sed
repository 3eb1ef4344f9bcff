# A query does not see its own place.
# file: graph/passes/decompose.cpp
# target: test_kernels
# test: decomposing and simplifying the operators' cases keeps the numbers
s/emit("less_equal", {key, query}/emit("less", {key, query}/
