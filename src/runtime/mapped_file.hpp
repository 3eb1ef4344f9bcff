#pragma once
// A whole file mapped read-only.

#include <cstddef>
#include <span>
#include <string>

namespace dyn::runtime {

class MappedFile {
 public:
  /// Throws Error(device) naming the file and the system's reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The contents of a text file; the same errors.
std::string read_text_file(const std::string& path);

}  // namespace dyn::runtime
