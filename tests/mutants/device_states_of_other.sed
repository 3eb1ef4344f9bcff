# A run on a device keeps the addresses of the states that the run before it had, whosesoever they were.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: sessions that take turns at the same length on the emulator keep to themselves
s/words_changed_ = words_changed_ || words_\[word\] != begin;/words_changed_ = words_changed_ || begin == 0;/
