# A graph is replayed with the blocks that it was made with.
# file: targets/ptx/cuda/graph.cpp
# target: test_ptx
# test: cuda graph: a replay has*
s/wanted.blocks == node.blocks \&\& wanted.threads/wanted.threads/
