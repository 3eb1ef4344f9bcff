# A plan makes the GPU's code that an earlier one has made.
# file: targets/ptx/ptx_target.cpp
# target: test_ptx
# test: code is loaded when a plan needs it*
s/code->function() == nullptr &&/true \&\&/
