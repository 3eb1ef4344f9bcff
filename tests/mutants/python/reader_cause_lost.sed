# The error of a load does not have what the reader raised as its cause.
# file: src/python/bindings/host/failure.cpp
# test: test_what_a_reader_raises_is_the_cause
s/raise_python(error, exception);/raise_python(error);/
