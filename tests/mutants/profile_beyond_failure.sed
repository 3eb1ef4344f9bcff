# A run that failed has buffers of groups that it never came to.
# file: src/runtime/profile/profile_builder.cpp
# target: test_runtime
# test: a profiled run that ends early*
s/if (begin >= count) return;//
