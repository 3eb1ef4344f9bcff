# Nobody tells a caller that waits for device memory that some came back.
# file: src/runtime/device/budget.cpp
# target: test_runtime
# test: device memory: one caller that never stops*
s/++changes_;//
