# What a definition got stays of use after it.
# file: src/python/bindings/operators/operator_object.cpp
# test: test_what_a_definition_keeps
s/~Until() { building->end(); }/~Until() = default;/
