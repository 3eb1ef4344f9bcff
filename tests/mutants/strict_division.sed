# A divisor of 0 is looked for, and not reported.
# file: graph/passes/check_values.cpp
# target: test_runtime
# test: a division of integers by zero is an error where the options are strict
s/add", {divisor, cast(none, type.dtype)}/add", {divisor, rewriter.integer(type.dtype, 0)}/
