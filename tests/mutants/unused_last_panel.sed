# The last panel of a block counts as one vector also where a wide tile computes it.
# file: src/choice/cpu/unused_lanes.cpp
# target: test_cpu
# test: unused lanes along columns*
/^  const bool alone =$/,/;$/c\  const bool alone = true;
