# The status that a definition in C gives is not looked at.
# file: src/c/plugin_calls.cpp
# target: test_runtime
# test: C: what a definition fails with names the node*
s/check_host(from.definition(&call, from.data), "definition")/from.definition(\&call, from.data)/
