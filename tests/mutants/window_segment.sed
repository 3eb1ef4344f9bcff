# Code for windows whose segments have one length is taken for those of another.
# file: targets/llvm/problem/structure_key.cpp
# target: test_runtime
# test: convolutions that differ in what their code knows*
/elements > 0)$/,/;$/s/key += fmt::format("e{}", elements);/key += "";/
