# An interrupt in a reader becomes an error of dyn.
# file: src/python/bindings/host/failure.cpp
# test: test_what_a_reader_raises_is_the_cause
s/PyErr_GivenExceptionMatches(exception.ptr(), PyExc_Exception) == 0/false/
