# Read-only memory of an allocator is written.
# file: src/python/bindings/host/allocator.cpp
# test: test_allocators_that_answer_nonsense
s/if (!tensor\.writable())/if (false)/
