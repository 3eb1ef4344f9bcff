# Only the last exception of a graph's Python functions is known.
# file: src/python/bindings/host/failure.cpp
# test: test_exceptions_of_several_threads
s/most_noted = 16/most_noted = 1/
