# Every zip archive is taken for a checkpoint of PyTorch.
# file: src/base/foreign_file.cpp
# target: test_graph
# test: a file that is no model says*
s/ \&\& head.find("data.pkl") != head.npos//
