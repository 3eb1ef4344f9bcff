# A copy of windows is priced as if its block stayed in L2, however large it is.
# file: src/rkernel/cost.cpp
# target: test_cpu
# test: a copy of windows reads each element once*
s/any_depth ? 1 : machine.level_of(2 \* block_bytes)/any_depth ? 1 : 1/
