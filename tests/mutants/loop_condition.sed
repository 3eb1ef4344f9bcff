# A loop goes on when its condition no longer holds.
# file: src/runtime/executables/loop_execution.cpp
# target: test_runtime
# test: a loop runs its body until the steps or the condition end it
s/if (places_.conditional) goes_on = is_true/if (false) goes_on = is_true/
