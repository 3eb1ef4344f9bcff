# A port takes a tensor without memory.
# file: src/runtime/run/call_ports.cpp
# target: test_runtime
# test: no port takes an empty Tensor*
s/if (tensor.empty())/if (false)/
