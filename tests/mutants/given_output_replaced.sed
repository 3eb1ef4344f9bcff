# A kernel of the program that leaves its output alone is believed.
# file: src/runtime/build/operators.cpp
# target: test_runtime
# test: a kernel that puts another tensor in place of its output is refused
s/if (outputs\[i\].raw() != places\[i\])/if (false)/
