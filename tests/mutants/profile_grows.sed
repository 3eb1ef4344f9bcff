# A profile keeps what it held.
# file: src/runtime/profile/profile_builder.cpp
# target: test_runtime
# test: a profile holds the last run*
s/^  profile = std::move(empty);$//
