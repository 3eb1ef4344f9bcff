# floordiv(floordiv(x, d) + k, e) forgets to multiply k by d.
# file: graph/dims/rules_division.cpp
# target: test_graph
# test: every rule keeps the value*
s/inner.operands\[0\] + offset \* inner.operands\[1\], inner/inner.operands[0] + offset, inner/
