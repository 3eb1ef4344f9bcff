# A request of 16 bytes a lane is one of the whole warp.
# file: targets/ptx/emulator/counters/launch_meter.cpp
# target: test_ptx
# test: counters: passes over the banks of shared memory
s/warp_lanes . word_bytes . std::min<std::size_t>(bytes, 16)/warp_lanes/
