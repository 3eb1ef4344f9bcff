# A Python kernel gets dyn's own memory, which its arrays may outlive.
# file: src/python/bindings/operators/operator_object.cpp
# test: test_arrays_that_a_kernel_keeps
s/copy_elements(input, inputs.emplace_back(input.dtype(), input.shape()));/inputs.push_back(input);/
