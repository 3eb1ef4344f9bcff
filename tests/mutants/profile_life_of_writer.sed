# Buffers of a profile end with the group that writes them.
# file: src/runtime/profile/profile_builder.cpp
# target: test_runtime
# test: a buffer of a profile lives from the group that writes it to the last that reads it
s/static_cast<std::size_t>(lifetime.last)/static_cast<std::size_t>(lifetime.first)/
