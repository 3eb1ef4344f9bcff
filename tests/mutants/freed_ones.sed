# A freed dim of 1 goes to the first dim of 1 of a reshape wherever that stands.
# file: src/import/onnx/sizes/freed_shape.cpp
# target: test_import
# test: dims of 1 go by order*
s/open.size() < places.size() \&\& !has_run_ \&\& open_first/open.size() < places.size()/
