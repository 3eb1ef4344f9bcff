# The depth of filters is said by what they slide over, which a run may give.
# file: graph/passes/decompose_conv_pool.cpp
# target: test_import
# test: imported: a convolution of channels that data gives*
s/Dim depth = dims(w)\[dims(w).size() - 2\];/Dim depth = dims(x_).back();/
