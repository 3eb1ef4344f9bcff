# dyn reads members of a structure of C that its caller does not know.
# file: src/c/guard.hpp
# target: test_runtime
# test: C: a reader of an older header has fewer functions
s/std::memcpy(&all, in, std::min(size, sizeof all));/std::memcpy(\&all, in, sizeof all);/
