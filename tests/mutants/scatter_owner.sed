# Each thread that has the lane changes an element, and not its owner alone.
# file: targets/ptx/function/scatter_code.cpp
# target: test_kernels
# test: functions on a GPU
s|Conditional own(builder_, builder_.CreateICmpEQ(owner, group_), "own");|Conditional own(builder_, builder_.CreateICmpSGE(owner, number(builder_, 0)), "own");|
