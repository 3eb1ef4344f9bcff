# A producer is not told that its memory is free.
# file: src/python/bindings/arrays/dlpack_import.cpp
# test: test_a_producer_is_told_once
s/managed_->deleter(managed_)/static_cast<void>(managed_)/
