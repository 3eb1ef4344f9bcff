# Even and odd columns of bytes are put in order by each other's permutation.
# file: targets/ptx/tile/tensor_core_loads.cpp
# target: test_ptx
# test: products of bytes on tensor cores*
s/columns_of_.odd. = builder/columns_of_[!odd] = builder/
