# Work on the part of a window that exists begins with the first channel, wherever a block of K begins.
# file: targets/cpu/move/window_copy.cpp
# target: test_runtime
# test: every program for a convolution of a computed image computes what plain loops do
s/builder_\.CreateURem(from, block_\.channels)/number(0)/
