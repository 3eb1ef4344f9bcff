# A result takes the memory of a tensor that later groups read.
# file: src/runtime/plan/in_place.cpp
# target: test_runtime
# test: *residual*
s/ || uses.last.at(read.buffer) != i) continue/) continue/
