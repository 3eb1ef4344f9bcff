# The fence of a thread releases what its neighbours did too, without a barrier before it.
# file: targets/ptx/emulator/memory/clocks.cpp
# target: test_ptx
# test: blocks that meet at a counter: each way of leaving out*
s/home.before = std::max(home.before, generation_start_);/home.before = advance(thread);/
