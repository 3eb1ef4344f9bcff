# A dtype of NumPy as an attribute is another.
# file: src/python/bindings/build/node_request.cpp
# test: test_nodes_print_as_they_are_written
s/return to_dtype(object);/return DType::f32;/
