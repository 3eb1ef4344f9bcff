# Neighbouring threads do not share a sector of what they turn.
# file: targets/ptx/loop/turn.cpp
# target: test_ptx
# test: loop kernels divide nothing*
s/static_cast<int>(sector_bytes \/ narrowest_turned) \/ lanes.width/1/
