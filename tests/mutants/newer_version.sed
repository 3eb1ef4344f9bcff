# A file of a newer version is read.
# file: graph/text/parser.cpp
# target: test_graph
# test: *place and message*
s/if (version > text_version)/if (version > text_version + 1000000)/
