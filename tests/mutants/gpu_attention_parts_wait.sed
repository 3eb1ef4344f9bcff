# The last parts of the keys add to the outputs at once.
# file: targets/ptx/attention/outputs.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/if (part > 0) call(builder_, Op::Barrier)/if (part == 1) call(builder_, Op::Barrier)/
