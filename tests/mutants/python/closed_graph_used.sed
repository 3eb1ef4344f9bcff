# A graph that was closed is used.
# file: src/python/bindings/graph_object.cpp
# test: test_what_was_closed
s/  if (is_closed()) user_error("this dyn.Graph was closed");//
