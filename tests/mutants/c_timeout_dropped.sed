# A timeout of C ends no run.
# file: src/c/objects.cpp
# target: test_runtime
# test: C: a timeout ends a run*
s/if (given.has_timeout) all.deadline/if (false) all.deadline/
