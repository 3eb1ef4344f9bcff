# Heads of a group that are rows of one tile stay under the causal mask of queries.
# file: targets/ptx/attention/grouped_heads.cpp
# target: test_ptx
# test: attention on the emulator: heads of a group*
s/turned.attention->causal = false;//
