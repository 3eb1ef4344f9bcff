# C takes the first ticket of a slice for their number.
# file: src/c/profile.cpp
# target: test_runtime
# test: C: a profile says of a run what C++ says of the same run
s/slice.first, slice.count, slice.start_ns/slice.count, slice.first, slice.start_ns/
