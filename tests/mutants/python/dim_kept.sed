# A dim stays of use after the shape function that got it.
# file: src/python/bindings/operators/operator_object.cpp
# test: test_a_dim_explains_itself
s/~Until() { call->end(); }/~Until() = default;/
