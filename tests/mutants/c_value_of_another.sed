# A builder in C takes the values of another.
# file: src/c/building.cpp
# target: test_runtime
# test: C: a value of another builder is none of this one*
s/if (used->owner != this)/if (false)/
