# What a Python kernel puts in place of an output is dropped without a word.
# file: src/python/bindings/operators/operator_object.cpp
# test: test_kernels_that_do_what_they_must_not
s/now.size() != before.size() ||.*/false)/
