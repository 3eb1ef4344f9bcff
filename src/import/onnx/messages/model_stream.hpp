#pragma once
// A model from a file that is not in memory.

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>

#include "src/import/onnx/messages/messages.hpp"

namespace dyn::onnx {

/// Bytes are no model.
class NotAModel : public std::exception {
 public:
  explicit NotAModel(std::uint64_t offset) : offset_(offset) {}
  const char* what() const noexcept override { return "not a message of ONNX"; }
  /// How many bytes were read before it was seen.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::uint64_t offset_;
};

/// Puts the bytes of a file from `offset` on into `into`, all of which lies in the file.
using ReadBytes = std::function<void(std::uint64_t offset, std::span<char> into)>;

/// The model in a file of `size` bytes. No more of the file is in memory at a time than one field
/// of the model or of its graph, such as a tensor, so that elements are there only once, in the
/// messages. Throws NotAModel, and what `read` throws.
ModelProto read_model(std::uint64_t size, const ReadBytes& read);

}  // namespace dyn::onnx
