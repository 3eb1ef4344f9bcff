# A warp's instructions are counted for each of its lanes.
# file: targets/ptx/emulator/counters/launch_meter.cpp
# target: test_ptx
# test: counters: a warp runs a loop as often as the lane*
s/most = std::max(most, executions_of(thread).block.);/most += executions_of(thread)[block];/
