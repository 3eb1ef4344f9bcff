# A number before the operator is taken as if it stood behind it.
# file: src/python/bindings/build/value_object.cpp
# test: test_nodes_print_as_they_are_written
s/swapped ? combine(\*value, own) : combine(own, \*value)/combine(own, *value)/
