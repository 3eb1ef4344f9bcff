# Memory that a reader lends is given back at once.
# file: src/python/bindings/host/reader.cpp
# test: test_memory_that_is_lent_stays
s/lent_.push_back(std::move(lent));/lent.reset();/
