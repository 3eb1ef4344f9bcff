# Nobody tells a caller that waits for device memory that a run is over.
# file: src/runtime/device/budget.cpp
# target: test_runtime
# test: device memory: *
s/if (awaited()) note_change();//
