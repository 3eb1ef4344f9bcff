# Indices of a scatter_nd without elements are not looked at on a GPU.
# file: targets/ptx/function/scatter.cpp
# target: test_kernels
# test: a scatter without elements*
s/scatter_.component_stride >= 0 && lines \* lanes == 0/false/
