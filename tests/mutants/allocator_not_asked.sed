# Outputs are the system's memory, whatever the host's allocator.
# file: src/runtime/run/call_ports.cpp
# target: test_runtime
# test: weights* memory of runs and outputs*
s/new_host_tensor(info_.options.allocator, dtype, shape)/new_host_tensor(nullptr, dtype, shape)/
