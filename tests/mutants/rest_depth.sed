# The last step of K is not copied for the last columns, which lanes along K compute.
# file: targets/cpu/contraction/copies.cpp
# target: test_cpu
# test: dots of the columns of no whole vector equal plain loops
s/columns, k_size_, rest_columns_/columns, builder_.CreateSub(k_size_, number(1)), rest_columns_/
