# The memory that an allocator gave is not kept.
# file: src/python/bindings/host/allocator.cpp
# test: test_memory_is_let_go_without_deallocate
s/used_\.emplace(begin, std::move(lent));/used_.emplace(begin, std::make_unique<LentMemory>());/
