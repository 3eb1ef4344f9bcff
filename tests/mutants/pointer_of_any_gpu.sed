# Memory of another GPU is taken for this one's.
# file: targets/ptx/cuda/query.cpp
# target: test_ptx
# test: cuda device: memory of this GPU*
s/device != context.device() ||/device < 0 ||/
