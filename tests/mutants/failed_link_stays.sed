# What could not be linked keeps its name.
# file: targets/llvm/jit/jit.cpp
# target: test_codegen
# test: code that cannot be linked*
s/    remove_in_room(\*tracker);/    static_cast<void>(tracker);/
