#pragma once
// A whole file mapped read-only.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dyn {
class ReadableFile;
}

namespace dyn::runtime {

/// Which file, and in which state. Whoever writes to a file changes its `changed`; times are in
/// nanoseconds.
struct FileState {
  std::uint64_t size_bytes = 0, inode = 0;
  std::int64_t modified = 0, changed = 0;
  auto operator<=>(const FileState&) const = default;
};

/// Shared: all processes that map a file see one copy of it in memory.
class MappedFile {
 public:
  /// Throws Error(device) naming the file and the system's reason.
  explicit MappedFile(const std::string& path);
  explicit MappedFile(const ReadableFile& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// The file's state when it was mapped.
  const FileState& state() const noexcept { return state_; }
  std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(data_), size_};
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  FileState state_;
};

/// The state now of the file of that name; all zero where there is none.
FileState file_state(const std::string& path);

/// The contents of a text file; the same errors.
std::string read_text_file(const std::string& path);

}  // namespace dyn::runtime
