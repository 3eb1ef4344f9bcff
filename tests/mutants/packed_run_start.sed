# Runs of elements of fewer bits are all read from the start of their block.
# file: targets/cpu/move/pack.cpp
# target: test_cpu
# test: elements of fewer bits are packed as the numbers that they are
s/columns.read(first, column, length, numbers.data());/columns.read(start - start, column, length, numbers.data());/
