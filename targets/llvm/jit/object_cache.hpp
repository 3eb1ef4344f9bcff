#pragma once
// Objects on disk, one file per kernel class: written atomically, verified when read, rebuilt when
// broken.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/cache_directory.hpp"

namespace dyn::codegen {

/// Thread-safe between threads and processes. An object is believed only where this user signed it
/// with the directory's key. A directory that cannot be used is no error: the cache is then empty,
/// and `problem()` says why.
class ObjectCache {
 public:
  /// Objects of all processes may take so many bytes.
  static constexpr std::uint64_t budget_bytes = std::uint64_t{1} << 30;

  /// All keys depend on `stamp` (ISA, versions). An empty directory name switches the cache off.
  ObjectCache(std::string directory, std::string stamp);

  /// The object stored for `key`; nothing where there is none or its file is broken.
  std::optional<std::string> load(std::string_view key) const;
  /// Keeps `object`; returns an error text, empty where it worked.
  std::string store(std::string_view key, std::string_view object) const;
  bool enabled() const noexcept { return signature_.has_value(); }
  /// Says why the directory is not used; empty where it is, or where none was asked for.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::string name_of(std::string_view key) const;
  std::string header_of(std::string_view key, std::string_view object) const;

  CacheDirectory directory_;
  std::optional<CacheKey> signature_;
  std::string stamp_, problem_;
  mutable std::atomic<bool> made_room_ = false;
};

/// 64-bit FNV-1a, used for file names.
std::uint64_t checksum(std::string_view bytes,
                       std::uint64_t seed = 14695981039346656037ull) noexcept;

}  // namespace dyn::codegen
