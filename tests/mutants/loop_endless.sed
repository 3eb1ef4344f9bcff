# A loop may take a step more than the limit.
# file: src/runtime/executables/loop_execution.cpp
# target: test_runtime
# test: loops that never end*
s/if (step == most_steps_)/if (step == most_steps_ + 1)/
