# Each step of a loop gets the first slice.
# file: src/runtime/executables/loop_execution.cpp
# target: test_runtime
# test: a loop runs its body until the steps or the condition end it
s/static_cast<std::size_t>(step) \* bytes,/0 * bytes,/
