# A caller whom nobody helps takes a ticket before one that it may wait for.
# file: src/runtime/run/tickets.cpp
# target: test_runtime
# test: a caller whom nobody helps does all shares*
s/(own + i) % shares_.size()/(own + shares_.size() - i) % shares_.size()/
