# A group whose launch is like none of the choices has no program.
# file: src/runtime/plan/candidates.cpp
# target: test_runtime
# test: the groups of a profile have names*
s/: choices\.candidates\[choices\.chosen\]\.program;/: std::string();/
