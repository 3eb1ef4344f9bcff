# A sum over several steps of a block forgets what the warps before have in the step.
# file: targets/ptx/function/scan.cpp
# target: test_kernels
# test: functions on a GPU
s|own = builder_.CreateSelect(is_own, sum, own);|own = builder_.CreateSelect(is_own, before, own);|
