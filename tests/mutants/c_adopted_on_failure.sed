# Memory that a host gives is given back though the function failed.
# file: src/c/tensor.cpp
# target: test_runtime
# test: C: memory that a host gives is given back once*
s/std::make_shared<bool>(false)/std::make_shared<bool>(true)/
