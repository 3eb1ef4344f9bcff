# Bytes that a reader does not give are taken as read.
# file: src/python/bindings/host/reader.cpp
# test: test_nonsense_of_a_reader_is_an_error
s/return bytes.size();/return into.size();/
