# A definition that catches an error of its builder goes on with a broken model.
# file: src/runtime/build/operators.cpp
# target: test_runtime
# test: shape functions and definitions that answer wrongly name the node
s/      state->require_open();//
