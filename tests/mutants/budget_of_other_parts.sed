# Only the part of a graph that has no room gives back what its runs keep.
# file: src/runtime/run/memory_budget.cpp
# target: test_runtime
# test: parts of a graph give back*
s/  for (Holder\* const holder : holders_) holder->release_idle();//
