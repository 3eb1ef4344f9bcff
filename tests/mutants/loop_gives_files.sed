# A part of a model gives back a weight that others read.
# file: src/runtime/load/load.cpp
# target: test_import
# test: a weight that a loop and the graph around it read is one weight
s/request.gives_files = false;.*$//
