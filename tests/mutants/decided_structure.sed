# A model that was loaded for known values of its inputs runs with any other.
# file: src/runtime/run/call_ports.cpp
# target: test_import
# test: a structure that is known at load holds*
s/if (port.tensor.shape() != value.shape()) return false;/return true;/
