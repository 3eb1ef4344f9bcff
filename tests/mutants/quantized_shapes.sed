# A weight that is read in two shapes is quantised by the columns of one.
# file: src/runtime/weights/weight_source.cpp
# target: test_kernels
# test: precision i8: a weight that is read in two shapes*
s/quantised.weight.block, columns_in(module_, quantised)/quantised.weight.block, 0/
