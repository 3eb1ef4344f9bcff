# Every step of a loop describes its groups anew.
# file: src/runtime/profile/profile_builder.cpp
# target: test_runtime
# test: a loop's groups stand once in a profile*
s/if (known != plans_.end()) return known->first_group;//
