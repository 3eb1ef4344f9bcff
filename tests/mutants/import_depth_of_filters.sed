# The input gives the depth of filters, though a run may decide it.
# file: graph/passes/decompose_conv_pool.cpp
# target: test_import
# test: imported: a convolution of channels that data gives*
s/Dim depth = dims(w)\[dims(w).size() - 2\];/Dim depth = dims(x_).back();/
