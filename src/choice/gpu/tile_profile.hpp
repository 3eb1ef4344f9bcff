#pragma once
// One tile in one form of a contraction, so that its time at any sizes costs little.

#include <cstdint>
#include <vector>

#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {

/// Immutable; thread-safe.
class GpuTileProfile {
 public:
  /// `form`: the surroundings of the contraction as the tile meets it; its sizes do not matter. The
  /// GPU holds the tile.
  GpuTileProfile(const GpuMachine& machine, const GpuContraction& form, const GpuTile& tile);

  /// A bound that gpu_contraction_cost() is not below, but for rounding, where the form has these
  /// sizes (batch, m, n, k). It is equal where the bandwidth of memory is no limit and rows are no
  /// windows.
  double least_seconds(const GpuContraction& sizes) const;
  /// Seconds of one multiply-add: none costs less, whatever the sizes.
  double seconds_per_multiply_add() const noexcept { return per_multiply_add_; }

 private:
  std::int64_t block_m_, block_n_, block_k_, multiprocessors_;
  double latency_, launch_;
  double a_traffic_, b_traffic_, output_traffic_;  ///< seconds of L2 for each element
  double per_multiply_add_ = 0;
  std::vector<GpuBlockRates> rates_;  ///< of 1, 2, ... blocks on each multiprocessor
};

}  // namespace dyn::choice
