# Figures of a file are believed whatever GPU they were measured on.
# file: targets/ptx/measure/stage_times.cpp
# target: test_ptx
# test: figures are kept for their device*
s/value.at("device") != device ||/false ||/
