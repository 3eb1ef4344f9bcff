# The first element of a DLPack tensor is where its memory begins.
# file: src/python/bindings/arrays/dlpack_import.cpp
# test: test_memory_in_the_middle
s/ + tensor\.byte_offset//
