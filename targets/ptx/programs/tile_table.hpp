#pragma once
// The tiles of one contraction, by number.

#include <cstddef>
#include <deque>
#include <map>
#include <shared_mutex>
#include <vector>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::ptx {

/// Tiles, each once: those that are known before any shape, and behind them what policies make
/// later. A tile keeps its number and its place. Thread-safe.
class TileTable {
 public:
  explicit TileTable(const std::vector<choice::GpuTile>& first);

  /// The number of a tile, which is added where it is new.
  std::size_t number_of(const choice::GpuTile& tile);
  const choice::GpuTile& at(std::size_t number) const;
  /// In the order of numbers.
  std::vector<choice::GpuTile> all() const;

 private:
  mutable std::shared_mutex mutex_;
  std::deque<choice::GpuTile> tiles_;
  std::map<choice::GpuTile, std::size_t> numbers_;
};

}  // namespace dyn::ptx
