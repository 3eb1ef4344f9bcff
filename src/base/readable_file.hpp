#pragma once
// A file to read from.

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>

namespace dyn {

/// A regular file, open for reading. Anything else of that name is refused: a directory has no
/// contents, and a pipe would be waited for.
class ReadableFile {
 public:
  /// Throws Error(device) naming the file and the system's reason.
  explicit ReadableFile(const std::string& path);
  /// The file of that name in an open directory; a symbolic link is refused. `path` is for errors.
  ReadableFile(int directory, const std::string& name, const std::string& path);
  ~ReadableFile();
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  const std::string& path() const noexcept { return path_; }
  /// As it was when the file was opened.
  const struct stat& info() const noexcept { return info_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(info_.st_size); }

  /// False where somebody has written to it meanwhile.
  bool is_unchanged() const noexcept;

  /// All of it. Throws Error(device) where reading fails, or the file has become shorter.
  std::string contents() const { return contents(0, size()); }
  /// The same of some bytes.
  std::string contents(std::size_t offset, std::size_t bytes) const;
  void read(std::size_t offset, std::span<char> into) const;

 private:
  std::string path_;
  int descriptor_;
  struct stat info_;
};

}  // namespace dyn
