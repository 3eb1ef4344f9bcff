# Read-only memory of DLPack may be written.
# file: src/python/bindings/arrays/dlpack_import.cpp
# test: test_memory_in_the_middle
s/const bool writable = .*;/const bool writable = true;/
