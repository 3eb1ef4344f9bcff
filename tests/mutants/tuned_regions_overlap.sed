# Regions of a tuned program may leave elements out, or compute them twice.
# file: src/choice/cpu/legality.cpp
# target: test_cpu
# test: programs that no code runs*
s/return elements == .*/return true;/
