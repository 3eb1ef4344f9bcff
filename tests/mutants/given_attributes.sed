# An expression of the program sees other numbers than the node has.
# file: src/runtime/build/operators.cpp
# target: test_runtime
# test: an expression becomes dyn's operators? with the same bits
s/attr_number(node, attr.name)/1.0/
