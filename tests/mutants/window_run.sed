# The taps of a row of a convolution's window end where the axis does, wherever the window begins.
# file: targets/cpu/move/window_copy.cpp
# target: test_kernels
# test: windows
s/tap(builder_.CreateSub(along.extent, origin))/tap(along.extent)/
