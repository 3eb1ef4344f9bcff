# Every step reads what the first one did.
# file: src/runtime/executables/loop_execution.cpp
# target: test_runtime
# test: a loop runs its body until the steps or the condition end it
s/&other = sides_\[static_cast<std::size_t>(1 - step % 2)\]/\&other = sides_[1]/
