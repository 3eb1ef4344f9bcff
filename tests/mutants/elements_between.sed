# A store of elements that lie apart writes what lies between them as well.
# file: targets/llvm/problem/operands.cpp
# target: test_codegen
# test: elements that lie two*
s/masked.push_back(place % stride == 0 ? place \/ stride : width_);/masked.push_back(place \/ stride);/
