# A block of K that ends with part of a group takes what lies behind it for the rest.
# file: targets/cpu/contraction/copies.cpp
# target: test_kernels
# test: integer products*
s/return code\.minimum(room, left);/return builder.CreateAdd(left, builder.CreateSub(room, left));/
