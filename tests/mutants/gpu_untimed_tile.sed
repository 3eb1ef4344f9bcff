# A tile that nobody timed is as fast as predicted, beside candidates that were measured to be slower.
# file: src/choice/gpu/stage_times.cpp
# target: test_ptx
# test: a tile that nobody timed*
s/return over_predicted;/return 1;/
