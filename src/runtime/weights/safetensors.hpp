#pragma once
// The safetensors format: 8 bytes of header length, a JSON header, then the tensors' bytes.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/dtype.hpp"
#include "dyn/tensor.hpp"
#include "src/runtime/system/mapped_file.hpp"

namespace dyn::runtime {

/// One tensor of a file. `dtype` is nothing where dyn has no such element type (F64, U8, ...); such
/// a tensor may be in a file, but not be used.
struct SafetensorsEntry {
  std::optional<DType> dtype;
  std::string dtype_name;  ///< as the file writes it
  Shape shape;
  std::span<const std::byte> bytes;  ///< unaligned; must be copied before use
};

/// A file's index, fully checked when it is opened: every entry lies inside the data, has the bytes
/// of its shape, and overlaps no other. All errors are Error(model) and name file and key.
class Safetensors {
 public:
  static Safetensors open(const std::string& path);
  /// `bytes` must outlive the object.
  static Safetensors from_bytes(const std::string& name, std::span<const std::byte> bytes);

  /// A checksum of the header, which places every tensor.
  std::uint64_t header_hash() const noexcept { return header_hash_; }
  /// The file's state when it was opened; nothing for bytes in memory.
  std::optional<FileState> state() const {
    return file_ ? std::optional(file_->state()) : std::nullopt;
  }
  const std::string& name() const noexcept { return name_; }
  /// nullptr where the file has no such key.
  const SafetensorsEntry* find(std::string_view key) const;
  const std::map<std::string, SafetensorsEntry, std::less<>>& entries() const noexcept {
    return entries_;
  }

 private:
  Safetensors(std::string name, std::span<const std::byte> bytes);

  std::string name_;
  std::uint64_t header_hash_ = 0;
  std::optional<MappedFile> file_;
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
};

}  // namespace dyn::runtime
