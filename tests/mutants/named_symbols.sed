# Symbols in named dims are not replaced with the others.
# file: graph/dims/dim.cpp
# target: test_graph
# test: what replaces a symbol replaces it in named dims too
s/inner == node.operands\[0\] ? dim : abbreviated(inner)/dim/
