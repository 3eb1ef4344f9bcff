# In a pair of values the later key comes first.
# file: targets/cpu/attention/pairs.cpp
# target: test_kernels
# test: attention by bf16*
# needs: avx512_bf16
s/{i, lanes + i}/{lanes + i, i}/
