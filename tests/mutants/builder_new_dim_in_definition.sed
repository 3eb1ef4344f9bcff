# The definition of an operator makes dims by a text.
# file: src/runtime/build/builder_state.cpp
# target: test_runtime
# test: C: what a definition fails with names the node*
s/graph::parse_dims(text, table(), !is_definition_)/graph::parse_dims(text, table(), true)/
