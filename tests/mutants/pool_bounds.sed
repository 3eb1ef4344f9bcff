# Loops over a window begin where the image does, wherever the window is.
# file: targets/llvm/problem/operand_guards.cpp
# target: test_kernels
# test: windows
s/return {builder_.CreateSub(begin, first), end};/return {begin, end};/
