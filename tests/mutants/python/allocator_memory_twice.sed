# Memory that is in use is given once more.
# file: src/python/bindings/host/allocator.cpp
# test: test_memory_that_is_in_use
s/if (meets_next || meets_last)/if (false)/; s/const bool meets_/[[maybe_unused]] const bool meets_/
