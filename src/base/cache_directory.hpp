#pragma once
// The directory of what dyn keeps between processes: code, figures of machines, prepacked weights.
// Code from there is executed, so it is one user's alone.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dyn {

class ReadableFile;

/// Known by its name, so that no other file of the directory is ever touched.
enum class CacheKind { Code, Figures, Weights, Key, Unfinished };

/// Nothing where dyn writes no file of that name.
std::optional<CacheKind> cache_kind(std::string_view name);

struct CacheFile {
  std::string name;
  CacheKind kind;
  std::uint64_t bytes;
  std::chrono::system_clock::time_point used;
};

/// Signs what this user writes.
using CacheKey = std::array<std::uint8_t, 32>;

/// Thread-safe, also between processes: a file appears whole, under its final name, and is removed
/// without harm to those who have opened it. A directory that cannot be used, or that another user
/// owns or may write to, is no error: nothing is then found or kept, and problem() says why.
class CacheDirectory {
 public:
  enum class Missing { Make, Leave };
  /// A file that has the name already is replaced, or kept.
  enum class Former { Replace, Keep };

  /// Opens it. What is missing of its path is made, for its owner alone. An empty path is none.
  explicit CacheDirectory(std::string path, Missing missing = Missing::Make);
  ~CacheDirectory();
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;

  bool usable() const noexcept { return descriptor_ >= 0; }
  /// Why it is not used; empty where it is, or where none was asked for.
  const std::string& problem() const noexcept { return problem_; }
  std::string path_of(std::string_view name) const;

  /// The key in the file "key" (mode 600), which is made where there is none that is whole. Nothing
  /// where it can neither be read nor made; key_problem() says so.
  std::optional<CacheKey> key() const;
  /// The same where there is one.
  std::optional<CacheKey> existing_key() const;
  /// Why there is no key: problem(), or that of the file.
  std::string key_problem() const;

  bool has(const std::string& name) const;
  /// A file that this user alone may write, open for reading; nothing where there is none.
  std::unique_ptr<ReadableFile> open(const std::string& name) const;
  /// For make_room(), which removes what nobody uses.
  static void note_use(const ReadableFile& file);
  /// The contents of such a file, which counts as a use; nothing where it cannot be read.
  std::optional<std::string> read(const std::string& name) const;
  /// Puts a file in its place. Returns an error text, empty where a file of that name is there;
  /// else nothing has changed.
  std::string write(const std::string& name,
                    std::initializer_list<std::span<const std::byte>> parts,
                    Former former = Former::Replace) const;
  std::string write(const std::string& name, std::string_view text) const;
  /// Returns an error text, empty where there is no such file any more.
  std::string remove(const std::string& name) const;

  /// Those of dyn, sorted by name.
  std::vector<CacheFile> files() const;
  /// Removes what killed processes left, what has not been used for months, and of this kind the
  /// least recently used until `coming` more bytes stay within the budget. `except` stays.
  void make_room(CacheKind kind, std::uint64_t budget_bytes, std::uint64_t coming = 0,
                 std::string_view except = {}) const;

 private:
  std::string path_, problem_;
  int descriptor_ = -1;
};

}  // namespace dyn
