# A prologue takes what a reduction's kernel computes while it passes over the rows.
# file: graph/fusion/prologue.cpp
# target: test_graph
# test: every rule of fusion decides where it should*
s/return kind == OpClass::Reduction || kind == OpClass::Indexed;/return kind == OpClass::Indexed;/
