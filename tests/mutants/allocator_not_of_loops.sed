# What the steps of a loop make is the system's memory.
# file: src/runtime/executables/loop_execution.cpp
# target: test_runtime
# test: outputs whose size a run decides*
s/allocator_(body->options().allocator)/allocator_(nullptr)/
