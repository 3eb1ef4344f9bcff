# Memory that is handed on through DLPack dies with the tensor in between.
# file: src/python/bindings/arrays/buffer_export.cpp
# test: test_a_tensor_in_between
s/exported\.release()->keeper = keeper;/exported.release()->keeper = nullptr;/; s/Py_XINCREF(keeper);//
