#pragma once
// Objects on disk, one file per kernel class: written atomically, verified when read, rebuilt when
// broken.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dyn::codegen {

/// Thread-safe between threads and processes. A directory that cannot be used is no error: the
/// cache is then empty, and `problem()` says why.
class ObjectCache {
 public:
  /// All keys depend on `stamp` (ISA, versions). An empty directory name switches the cache off.
  ObjectCache(std::string directory, std::string stamp);

  /// The object stored for `key`; nothing where there is none or its file is broken.
  std::optional<std::string> load(std::string_view key) const;
  /// Keeps `object`; returns an error text, empty where it worked.
  std::string store(std::string_view key, std::string_view object) const;
  bool enabled() const noexcept { return !directory_.empty(); }
  /// Says why the directory is not used; empty where it is, or where none was asked for.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::string path_of(std::string_view key) const;
  std::string header_of(std::string_view key, std::string_view object) const;

  std::string directory_, stamp_, problem_;
};

/// 64-bit FNV-1a, used for file names and checksums.
std::uint64_t checksum(std::string_view bytes,
                       std::uint64_t seed = 14695981039346656037ull) noexcept;

}  // namespace dyn::codegen
