# An error of the builder that a definition in C does not give is lost.
# file: src/c/building.cpp
# target: test_runtime
# test: C: what a definition fails with names the node*
s/  used->check();//
