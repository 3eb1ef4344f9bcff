# A number takes the dtype of a number beside it before a tensor's.
# file: graph/text/literals.cpp
# target: test_runtime
# test: a number takes the dtype of the tensor beside it
s/return !input.is_literal; }/return input.is_literal; }/
