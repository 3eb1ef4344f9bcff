# Work on an image is also done on what lies outside of it.
# file: targets/cpu/move/strip_copy.cpp
# target: test_kernels
# test: images that are computed where windows are copied have 0 outside*
s/block_\.finish(builder_, element(to, from), number(0), builder_\.CreateSub(until, from));/block_.finish(builder_, to, number(0), row_size_);/
