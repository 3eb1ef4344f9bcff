# Code that was compiled ahead of time for one ISA is taken for another.
# file: targets/llvm/jit/ahead_of_time.cpp
# target: test_codegen
# ahead_of_time: kept
# test: the library has what depends on an ISA alone*
s/functions.find({isa.name, key})/functions.lower_bound({"", key})/
