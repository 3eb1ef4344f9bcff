# Of a run that failed nothing is left.
# file: src/runtime/executables/planned_execution.cpp
# target: test_runtime
# test: a profiled run that ends early*
s/if (request\.profile != nullptr && request\.profile->builder != nullptr)$/if (failed < 0 \&\& request.profile != nullptr \&\& request.profile->builder != nullptr)/
