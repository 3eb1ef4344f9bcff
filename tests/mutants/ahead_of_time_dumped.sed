# What the library has is not compiled for a dump either.
# file: targets/llvm/jit/jit.cpp
# target: test_codegen
# ahead_of_time: kept
# test: what the library has is compiled for a dump alone
s/return dumps() ? nullptr : ahead_of_time_function/return ahead_of_time_function/
