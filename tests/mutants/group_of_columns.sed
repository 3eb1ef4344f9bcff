# A right side that arrives with the call: groups take elements in another order along K.
# file: targets/cpu/move/group_panels.cpp
# target: test_kernels
# test: integer products*
s/interleaved(pair(0), pair(2), lanes_)/interleaved(pair(2), pair(0), lanes_)/
