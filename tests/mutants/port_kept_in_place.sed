# A port that lay on the device stays where it was when the next tensor lies on the host.
# file: src/runtime/device/run.cpp
# target: test_runtime
# test: tensors in a device's memory: any mix*
s/buffer.is_in_place = memory_of(buffer).on_device();/buffer.is_in_place = buffer.is_in_place || memory_of(buffer).on_device();/
