# An error of a builder in C that nobody has looked at is forgotten.
# file: src/c/building.hpp
# target: test_runtime
# test: C: an error that nobody has looked at is that of all that follows
s/if (failure_) std::rethrow/if (false) std::rethrow/
