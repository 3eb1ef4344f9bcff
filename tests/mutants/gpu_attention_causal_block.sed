# Under a causal mask blocks of keys end where the first row's sight does.
# file: targets/ptx/attention/scores.cpp
# target: test_ptx
# test: attention on the emulator: all tiles*
s/seen_by(last)};/seen_by(number(builder, 0))};/
