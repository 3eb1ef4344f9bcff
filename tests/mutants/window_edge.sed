# The element after the last of an axis belongs to a convolution's windows too.
# file: targets/cpu/move/window_copy.cpp
# target: test_kernels
# test: windows
s/CreateICmpULT(place, along.extent)/CreateICmpULE(place, along.extent)/
