# The length of a field of an ONNX file is taken without its upper 32 bits.
# file: src/import/onnx/messages/wire.hpp
# target: test_import
# test: messages: what is no message is refused
/^  void check_length() const {/,/^  }/s/length > static_cast<std::uint64_t>(end - at) ||/false \&\&/
