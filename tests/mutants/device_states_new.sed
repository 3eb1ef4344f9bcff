# New sessions have what was in the device's memory before them.
# file: src/runtime/session/session_memory.cpp
# target: test_runtime
# test: states with any mix of groups on host and device*
s/stream.clear(device_.address(), bytes);/stream.clear(device_.address(), bytes - bytes);/
