# After a function the caller goes on with the function's version of the operators.
# file: src/import/onnx/converter.cpp
# target: test_import
# test: a function has the version*
s/state_.opset = call.callers_opset;//
