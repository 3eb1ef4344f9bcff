#include "src/import/onnx/messages/model_stream.hpp"

#include <algorithm>
#include <string>

#include "src/import/onnx/messages/wire.hpp"

namespace dyn::onnx {
namespace {

constexpr std::uint64_t block_bytes = 1 << 20;
constexpr std::uint32_t graph_field = 7;

/// The fields of a file, one after the other, each whole in memory.
class FieldStream {
 public:
  FieldStream(std::uint64_t size, const ReadBytes& read) : size_(size), read_(read) {}

  std::uint64_t at() const { return at_; }

  /// The tag and the length of what comes next, where that has a length; passes none of it.
  struct Head {
    std::uint32_t number = 0;
    bool has_length = false;
    std::uint64_t bytes = 0;   ///< of the head
    std::uint64_t length = 0;  ///< of what is behind it
  };
  Head head(std::uint64_t end) {
    constexpr std::uint64_t longest = 2 * protozero::max_varint_length;
    const std::string_view bytes = buffered(std::min(end - at_, longest));
    const char* here = bytes.data();
    const std::uint64_t tag = number(here, bytes);
    Head head;
    head.number = static_cast<std::uint32_t>(tag >> 3U);
    const auto type = static_cast<protozero::pbf_wire_type>(tag & 7U);
    head.has_length = type == protozero::pbf_wire_type::length_delimited;
    switch (type) {
      case protozero::pbf_wire_type::length_delimited: head.length = number(here, bytes); break;
      case protozero::pbf_wire_type::fixed32: head.length = sizeof(std::uint32_t); break;
      case protozero::pbf_wire_type::fixed64: head.length = sizeof(std::uint64_t); break;
      case protozero::pbf_wire_type::varint: {
        const char* const value = here;
        number(here, bytes);
        head.length = static_cast<std::uint64_t>(here - value);
        here = value;
        break;
      }
      default: fail();
    }
    head.bytes = static_cast<std::uint64_t>(here - bytes.data());
    if (head.length > end - at_ - head.bytes) fail();
    return head;
  }

  void pass(std::uint64_t bytes) { at_ += bytes; }

  /// Reads the field that comes next into the message, and passes it.
  template <class M>
  void read_into(M& message, const Head& head, int depth) {
    const std::string_view bytes = buffered(head.bytes + head.length);
    try {
      WireReader(bytes, depth).read_message(message);
    } catch (const WireError& error) {
      throw NotAModel(at_ + static_cast<std::uint64_t>(error.at - bytes.data()));
    }
    pass(bytes.size());
  }

 private:
  [[noreturn]] void fail() const { throw NotAModel(at_); }

  std::uint64_t number(const char*& here, std::string_view bytes) const {
    try {
      return protozero::decode_varint(&here, bytes.data() + bytes.size());
    } catch (const protozero::exception&) { fail(); }
  }

  /// The next bytes of the file, at least one and at most as many as are left.
  std::string_view buffered(std::uint64_t bytes) {
    if (at_ < begin_ || at_ + bytes > begin_ + buffer_.size()) {
      begin_ = at_;
      buffer_.resize(std::min(size_ - at_, std::max(bytes, block_bytes)));
      read_(begin_, buffer_);
    }
    return std::string_view(buffer_).substr(at_ - begin_, bytes);
  }

  std::uint64_t size_;
  const ReadBytes& read_;
  std::uint64_t at_ = 0;
  std::uint64_t begin_ = 0;  ///< where the buffer begins
  std::string buffer_;
};

}  // namespace

ModelProto read_model(std::uint64_t size, const ReadBytes& read) {
  ModelProto model;
  FieldStream stream(size, read);
  while (stream.at() < size) {
    const FieldStream::Head head = stream.head(size);
    if (head.number != graph_field || !head.has_length) {
      stream.read_into(model, head, 1);
      continue;
    }
    stream.pass(head.bytes);
    const std::uint64_t end = stream.at() + head.length;
    GraphProto& graph = *model.mutable_graph();
    while (stream.at() < end) stream.read_into(graph, stream.head(end), 2);
  }
  return model;
}

}  // namespace dyn::onnx
