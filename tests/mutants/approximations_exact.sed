# The emulator's approximations are exact: no test sees what a GPU may give.
# file: targets/ptx/emulator/multiprocessor/lanes.cpp
# target: test_ptx
# test: emulator: approximations use up their bounds*
s/return moved_by_ulps(rounded, steps);/return moved_by_ulps(rounded, 0 * steps);/
