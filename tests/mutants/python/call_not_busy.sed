# A call that runs lets other threads in.
# file: src/python/bindings/call_object.cpp
# test: test_a_call_in_two_threads
s/parts\.busy = true;/parts.busy = false;/
