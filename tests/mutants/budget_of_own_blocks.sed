# A run keeps the blocks of its last plan, however full the budget is.
# file: src/runtime/run/run_pool.cpp
# target: test_runtime
# test: a run that holds much of one kind*
s/if (!run.has_left()) run.release_host();//
