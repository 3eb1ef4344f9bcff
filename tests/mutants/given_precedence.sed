# An operator of dyn's takes precedence over the program's.
# file: src/import/onnx/converter.cpp
# target: test_import
# test: the program's operator takes precedence? also over one of dyn's
s/= find_given_operator(state_, node))/= find_conversion(node) ? nullptr : find_given_operator(state_, node))/
