# Crooked memory passes for a run.
# file: src/python/bindings/arrays/strided.cpp
# test: test_misaligned_memory
s/return reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;/return data != nullptr;/
