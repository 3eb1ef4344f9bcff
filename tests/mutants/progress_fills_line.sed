# A line of progress may fill the terminal's line.
# file: src/cli/report/progress.cpp
# target: test_cli
# test: a line of progress never fills the terminal's line
s/columns > 0 ? columns - 1 : 0/columns/
