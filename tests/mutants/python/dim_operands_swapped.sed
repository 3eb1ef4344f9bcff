# An int before the operator is taken as if it stood behind it.
# file: src/python/bindings/build/dim_expr.cpp
# test: test_sizes_of_all_operations
s/swapped ? combine(\*dim, own) : combine(own, \*dim)/combine(own, *dim)/
