# The code of a group that a driver refuses is not named.
# file: targets/ptx/cuda/modules.cpp
# target: test_runtime
# test: a plan takes code from disk*
s/if (missing\[i\]->problem.empty()) throw;/throw;/
