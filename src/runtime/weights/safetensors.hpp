#pragma once
// The safetensors format: 8 bytes of header length, a JSON header, then the tensors' bytes.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/dtype.hpp"
#include "dyn/tensor.hpp"
#include "src/runtime/system/mapped_file.hpp"
#include "src/runtime/weights/read_files.hpp"

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
  /// A file begins with so many bytes, which say how many its header has.
  static constexpr std::size_t length_bytes = 8;
  /// Bytes of the header behind them; 0 where the file has fewer, or the format allows none so
  /// long.
  static std::size_t header_bytes(std::span<const std::byte> file);

  static Safetensors open(const std::string& path);
  /// `bytes` must outlive the object.
  static Safetensors from_bytes(const std::string& name, std::span<const std::byte> bytes);
  /// The same of a file that the host reads; only its header needs to have been read.
  static Safetensors from_reader(std::shared_ptr<ReadFile> file);

  /// A checksum of the header, which places every tensor.
  std::uint64_t header_hash() const noexcept { return header_hash_; }
  /// The file's state when it was opened; nothing for bytes in memory, and for what the host reads.
  std::optional<FileState> state() const {
    return file_ ? std::optional(file_->state()) : std::nullopt;
  }
  /// nullptr: the host does not read it.
  ReadFile* read_file() const noexcept { return read_file_.get(); }
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
  std::shared_ptr<ReadFile> read_file_;
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
};

}  // namespace dyn::runtime
