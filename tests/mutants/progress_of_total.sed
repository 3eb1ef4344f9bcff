# The line of a load has all bytes of the weights done.
# file: src/cli/report/progress.cpp
# target: test_cli
# test: the line of a load says how far*
s/progress\.done \/ mb/progress.total \/ mb/
