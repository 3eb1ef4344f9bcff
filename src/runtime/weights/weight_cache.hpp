#pragma once
// Prepacked weights in the cache directory: one file for each model, mapped by all processes that
// load it.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/options.hpp"
#include "src/base/cache_directory.hpp"
#include "src/runtime/system/mapped_file.hpp"

namespace dyn::runtime {

/// Which weights, and in which form.
struct WeightKey {
  std::string layout;  ///< every place and what lies there, the form of the packed ones, and where
                       ///< the weights come from
  std::string files;   ///< which state of these files
};

/// Prepacked weights in a mapped file.
struct MappedWeights {
  MappedFile file;
  std::span<const std::byte> bytes;  ///< aligned to a page
};

/// Safe between threads and processes, as CacheDirectory is.
class WeightCache {
 public:
  using Log = std::function<void(LogLevel, std::string_view)>;

  /// An empty directory or a budget of 0 switches it off.
  WeightCache(std::string directory, std::size_t budget_bytes, Log log);

  /// Is a file for so many bytes of weights worth its name, and within the budget?
  bool keeps(std::size_t bytes) const noexcept;

  /// Weights that were kept under this key, verified; nothing where there are none, or where they
  /// are of another state of the weights files, or damaged.
  std::optional<MappedWeights> find(const WeightKey& key, std::size_t bytes, int threads) const;

  /// Writes them, removing those that were used least recently where the budget asks for it, and
  /// maps what was written. Nothing where it cannot be written, which is logged.
  std::optional<MappedWeights> keep(const WeightKey& key, std::span<const std::byte> weights,
                                    int threads) const;

 private:
  std::optional<MappedWeights> open(const std::string& name, const WeightKey& key,
                                    std::size_t bytes, int threads) const;
  void log(LogLevel level, const std::string& message) const;

  bool wanted_;
  CacheDirectory directory_;
  std::optional<CacheKey> signature_;
  std::size_t budget_bytes_;
  Log log_;
};

/// A file of the cache, for a person to see.
struct KeptWeights {
  std::string path;
  std::size_t bytes = 0;
  std::string from;  ///< the weights files; empty where the file is not whole
};

/// The files of the cache in a directory, sorted by name; none where it cannot be read.
std::vector<KeptWeights> kept_weights(const CacheDirectory& directory);

}  // namespace dyn::runtime
