# Under a causal mask blocks of keys end where the first row's sight does.
# file: targets/ptx/attention/scores.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/clamped(builder, builder.CreateAdd(after_first, existing), keys)/clamped(builder, after_first, keys)/
