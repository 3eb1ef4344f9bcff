# A page-locked block is taken for more bytes than it has.
# file: targets/ptx/cuda/pinned.cpp
# target: test_ptx
# test: pinned memory: a block is used again*
s/block->bytes < bytes ||/block->bytes < bytes \/ 2 ||/
