#pragma once
// A file that the host reads, and what it does wrong.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dyn/reader.hpp"

namespace dyn {

/// A file of a Reader, which must outlive it. For one thread at a time. Whatever the reader does,
/// nothing but Error leaves, with the file, the bytes and the reader's own words.
class HostFile {
 public:
  /// Asks where the file lies, and for its size.
  HostFile(Reader& reader, std::string name);

  const std::string& name() const noexcept { return name_; }
  std::uint64_t size() const noexcept { return size_; }
  /// The whole file, where the host has it in memory.
  const std::optional<std::span<const std::byte>>& in_place() const noexcept { return in_place_; }

  /// Copies the bytes from `offset` on, which lie below size().
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  std::string contents(std::uint64_t offset, std::uint64_t bytes) const;
  std::string contents() const { return contents(0, size_); }

  std::string identity() const;

 private:
  Reader& reader_;
  std::string name_;
  std::optional<std::span<const std::byte>> in_place_;
  std::uint64_t size_ = 0;
};

/// The name of a file that a model names, for its reader: below the folder of `model`. Throws
/// Error(model) where it leads out of there.
std::string name_beside(const std::string& model, const std::string& name);

}  // namespace dyn
