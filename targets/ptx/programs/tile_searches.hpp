#pragma once
// Searches among tiles that the contractions of a target have in common.

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/choice/gpu/tile_search.hpp"

namespace dyn::ptx {

/// Layers of a model meet their tiles in few forms: each search is made once. Thread-safe.
class TileSearches {
 public:
  using Search = std::shared_ptr<const choice::GpuTileSearch>;
  /// `shape_for`: a contraction without windows, whose tiles of one engine agree on its form but
  /// for sizes; then `tiles`, its candidates, decide what `make` gives.
  Search shared(const std::vector<choice::GpuTile>& tiles, const choice::GpuShapeFor& shape_for,
                const std::function<Search()>& make);

 private:
  struct Known {
    std::vector<choice::GpuTile> tiles;
    choice::GpuContraction first, last;  ///< as these tiles meet them, without sizes
    Search search;
  };
  std::mutex mutex_;
  std::deque<Known> known_;
};

}  // namespace dyn::ptx
