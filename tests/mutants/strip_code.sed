# Code that reads strips is taken for code that does not.
# file: targets/cpu/contraction/forms.cpp
# target: test_runtime
# test: convolutions that differ in what their code knows*
s/if (shape_class.strips) full += " strips";//
