# Outputs that dyn allocates lie in ordinary memory.
# file: src/runtime/run/call_ports.cpp
# target: test_runtime
# test: outputs that dyn allocates are page-locked*
s/new_host_tensor(device_\.get(), /new_host_tensor(nullptr, /
