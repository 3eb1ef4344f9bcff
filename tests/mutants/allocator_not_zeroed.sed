# Memory of the host's allocator is taken for zeros.
# file: src/runtime/system/memory_block.cpp
# target: test_runtime
# test: memory block: that of an allocator*
s/if (size_ == 0) std::memset/if (false) std::memset/
