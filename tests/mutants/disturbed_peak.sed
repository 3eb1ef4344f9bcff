# The peak of one thread is what was measured, however disturbed.
# file: src/cli/report/peak.cpp
# target: test_cli
# test: limits: a rate that was disturbed*
s/figures\[i\]\.threads \/ more\.threads/0 * figures[i].threads \/ more.threads/
