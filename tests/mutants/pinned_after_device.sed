# A device that is closed leaves its idle page-locked blocks, and keeps those that come back.
# file: targets/ptx/cuda/pinned.cpp
# target: test_ptx
# test: pinned memory: a block outlives its device*
s/is_closed_ = true;/return;/
