# A device gets all launches of a run that may be ended at once.
# file: src/runtime/run/run_pool.cpp
# target: test_runtime
# test: a device has little in flight*
s/if (seconds_in_flight_ < most_seconds_in_flight) return;/return;/
