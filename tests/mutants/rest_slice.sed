# Dots of packed rows read the first slice of B for every slice of K.
# file: targets/cpu/contraction/tiles.cpp
# target: test_cpu
# test: dots of packed rows equal plain loops
s/code_\.element(b_rows, ticket_\.slice\.start)/b_rows/
