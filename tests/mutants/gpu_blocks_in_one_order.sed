# Blocks begin in ascending order, whatever order the emulator was told.
# file: targets/ptx/emulator/launcher.cpp
# target: test_ptx
# test: emulator faults: threads of the whole grid
s/blocks_in(block_order(), /blocks_in(BlockOrder{}, /
