# A launch that is refused drops what the run that left before it has reported.
# file: src/runtime/run/run_pool.cpp
# target: test_runtime
# test: what a left run reports is told*
s/^    settle();/    abandon();/
