# The guards of strided windows count indices as elements.
# file: targets/llvm/problem/slots.cpp
# target: test_kernels
# test: windows
s/bounds.factors.push_back(term.factor.constant() == 1 ? none : add(term.factor))/bounds.factors.push_back(none)/
