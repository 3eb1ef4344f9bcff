# Rows of shares in shared memory begin four banks after one another.
# file: src/choice/gpu/attention.hpp
# target: test_ptx
# test: attention of all tiles*
s/share_padding = 8/share_padding = 4/
