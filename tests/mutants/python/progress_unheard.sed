# The answer of a progress function has no effect.
# file: src/python/bindings/host/functions.cpp
# test: test_progress_of_a_load
s/return !answer.is(Py_False);/return true;/
