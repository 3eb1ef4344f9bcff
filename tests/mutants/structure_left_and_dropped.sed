# A run of another structure forgets the one that left.
# file: src/runtime/structures/delegated_run.cpp
# target: test_runtime
# test: structures on a device: what a left run reports*
s/ && !other.call->in_flight();/;/
