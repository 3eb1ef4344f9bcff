# Blocks begin beside those that wait, though the GPU has no room for them.
# file: targets/ptx/emulator/multiprocessor/blocks.cpp
# target: test_ptx
# test: emulator faults: a block that can begin only when*
s/ \&\& waiting_.size() < most_resident//
