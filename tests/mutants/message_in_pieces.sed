# The graph of an ONNX file is read anew from each of its pieces, and the fields before are lost.
# file: src/import/onnx/messages/wire.hpp
# target: test_import
# test: messages: a message that comes twice*
s/    inner(\*field.made());/    field = {}, inner(*field.made());/
