# A handle of C that was released names what took its place.
# file: src/c/handles.cpp
# target: test_runtime
# test: C: a handle that was released stays refused*
s/std::uint64_t{generation + 1} << generation_shift/std::uint64_t{generation} << generation_shift/
