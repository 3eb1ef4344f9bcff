#pragma once
// Times of dyn and its peers in alternating slices.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/op/peer_process.hpp"

namespace dyn::cli {

struct SliceSettings {
  int rounds = 5;
  double slice_seconds = 0.02;
};

/// Seconds of single iterations over one slice: one that is not counted, then, until the time is
/// over, batches long enough for the clock, at least one. An uncounted iteration that filled the
/// slice counts after all: it was warm for most of its time.
std::vector<double> time_slice(double slice_seconds, const std::function<void()>& iterate);

struct SliceTimes {
  double median_seconds = 0,
         p95_seconds =
             0;  ///< dyn's seconds: the median over rounds, and the 95th percentile of all samples
  std::vector<std::optional<double>>
      ratios;  ///< for each peer its time over dyn's, the median over rounds
};

/// A slice of dyn, one of each peer, and again for every round; before each slice all others sleep.
/// A peer that fails meanwhile gets no ratio. A null peer takes no part. Where one iteration takes
/// ten slices or more, three rounds are enough.
SliceTimes time_alternating(const SliceSettings& settings, const std::function<void()>& iterate,
                            const std::vector<PeerProcess*>& peers);

}  // namespace dyn::cli
