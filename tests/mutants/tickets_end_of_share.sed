# Who takes the last chunk of another share runs the one behind it.
# file: src/runtime/run/tickets.cpp
# target: test_runtime
# test: a helper takes its own share*
s/last_of(word) - 1)/last_of(word))/
