# A tied column of a suite gets 1 instead of the size of the other one.
# file: src/cli/op/suite.cpp
# target: test_cli
# test: suites: a line stands for the product*
s|row\.sizes\[column\] = row\.sizes\.at(other)|row.sizes[column] = 1|
