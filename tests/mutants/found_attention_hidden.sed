# A condition hides the scores that it should leave.
# file: graph/passes/products/find_attention.cpp
# target: test_kernels
# test: attention that exporters write*
s|found.is_hidden = i == 1;|found.is_hidden = i == 2;|
