# The last step of K is not copied for the last columns, which lanes along K compute.
# file: targets/cpu/contraction/copies.cpp
# target: test_cpu
# test: dots of the columns of no whole vector equal plain loops
s/rest_move), columns, block\.size, count,/rest_move), columns, builder.CreateSub(block.size, code.number(1)), count,/
