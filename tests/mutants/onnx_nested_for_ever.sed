# Messages may be nested as deep as a file likes, and the stack ends first.
# file: src/import/onnx/messages/wire.hpp
# target: test_import
# test: messages*
s/depth_ > deepest_message/depth_ > 1000 * deepest_message/
