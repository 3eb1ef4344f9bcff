# Parts of the keys are merged as if all had the same maximum.
# file: targets/cpu/attention/merge.cpp
# target: test_cpu
# test: attention of all sizes*
s/builder_.CreateFSub(maximum_of(weigh.index()), maximum)/builder_.CreateFSub(maximum, maximum)/
