# Work on the part of a window that exists begins with the first channel, wherever a block of K begins.
# file: targets/cpu/move/window_copy.cpp
# target: test_kernels
# test: images that are computed where windows are copied have 0 outside*
s/builder_\.CreateURem(from, block_\.channels)/number(0)/
