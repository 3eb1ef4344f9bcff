# Code that reads strips is taken for code that does not.
# file: targets/cpu/contraction/emitter.cpp
# target: test_runtime
# test: convolutions that differ in what their code knows*
s/shape_class.strips ? "strips " : ""/""/
