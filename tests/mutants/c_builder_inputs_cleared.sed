# A builder in C clears the place of a result before it reads the inputs.
# file: src/c/builder.cpp
# target: test_runtime
# test: C: a model of the builder is that of C*
s/{&dyn::c::required(value, "value"), 1}/{\&dyn::c::given(value, "value"), 1}/
