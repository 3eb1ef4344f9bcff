# A value on the device that must be that of the load is not looked at.
# file: src/runtime/run/call_ports.cpp
# target: test_runtime
# test: values that a device tensor must have*
s/if (value.bytes() == 0) return true;/if (value.bytes() == 0 || port.tensor.on_device()) return true;/
