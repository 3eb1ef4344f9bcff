# Statuses are read into ordinary memory: the copy is waited for in its call.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: outputs that dyn allocates are page-locked*
s/status_memory_ = device_\.host_memory(.*);/status_memory_ = nullptr;/
