# A value of a oneof leaves the others of before.
# file: src/import/onnx/messages/messages.cpp
# target: test_import
# test: messages*
s/reader\.read(name##_)) choose(number);/reader.read(name##_)) choose(6);/
