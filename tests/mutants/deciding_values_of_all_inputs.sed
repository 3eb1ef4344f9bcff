# A run copies all inputs from the device, as if all decided.
# file: src/runtime/structures/undecided_execution.cpp
# target: test_runtime
# test: structures on a device: the values that decide*
s/  ports_.drop_copies();/  for (std::size_t i = 0; i < ports_.input_count(); ++i) values(i);/
