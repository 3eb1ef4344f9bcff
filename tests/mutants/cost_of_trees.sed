# The cost of a value that is read again and again counts each reader's path.
# file: targets/llvm/problem/loop_passes.cpp
# target: test_runtime
# test: a value that is reused at each of 40 steps*
s/if (known < 0) known = cost_of(expr);/known = cost_of(expr);/
