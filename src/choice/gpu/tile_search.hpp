#pragma once
// The cheapest of many tiles for the sizes at hand.

#include <vector>

#include "src/choice/gpu/tile_profile.hpp"

namespace dyn::choice {

/// The tiles of one contraction in one form. Bounds change no choice: they spare costs that cannot
/// matter. Immutable; thread-safe.
class GpuTileSearch {
 public:
  /// `candidates`, and `late` behind them, are indices of one range. `form`: the contraction as
  /// each tile meets it; its sizes do not matter. Tiles that the GPU does not hold are never
  /// chosen.
  GpuTileSearch(const GpuMachine& machine, const std::vector<GpuTile>& candidates,
                const std::vector<GpuTile>& late, const GpuShapeFor& form);

  const std::vector<GpuTile>& candidates() const noexcept { return candidates_; }
  const GpuTile& tile(const GpuChoice& choice) const { return tile_at(choice.tile); }
  /// The candidate of select_gpu_tile(), or the cheapest late tile where that is clearly better
  /// (Calibration::gpu_worth_code). `sizes`: batch, m, n, k and what windows share.
  GpuChoice cheapest(const GpuContraction& sizes) const;
  /// The `most` late tiles of least cost, in this order.
  std::vector<GpuChoice> cheapest_late(const GpuContraction& sizes, std::size_t most) const;

 private:
  struct Known {
    int tile;
    GpuContraction form;
    GpuTileProfile profile;
  };
  const GpuTile& tile_at(int index) const {
    const auto place = static_cast<std::size_t>(index);
    return place < candidates_.size() ? candidates_[place] : late_[place - candidates_.size()];
  }
  double cost(const Known& known, const GpuContraction& sizes) const;
  GpuChoice cheapest_candidate(const GpuContraction& sizes) const;
  /// Seconds in which memory gives and takes what no tile spares.
  double least_seconds(const GpuContraction& sizes) const;

  GpuMachine machine_;
  std::vector<GpuTile> candidates_, late_;
  std::vector<Known> known_, known_late_;  ///< in the order of tiles
};

}  // namespace dyn::choice
