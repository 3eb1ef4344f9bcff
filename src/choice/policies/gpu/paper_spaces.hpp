#pragma once
// The space of each paper's policy on one GPU.

#include <map>
#include <mutex>
#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/gpu/tile_rates.hpp"
#include "src/choice/policies/gpu/tuned_tiles.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/rkernel/target/policy.hpp"

namespace dyn::choice {

/// The policy whose space a policy chooses from: variants have that of theirs.
rkernel::Policy space_policy(rkernel::Policy policy);

/// Tiles by which a paper's policy computes contractions of the same kinds. Made when they are
/// first asked for, and kept, but those that depend on the product. Thread-safe.
class GpuPaperSpaces {
 public:
  using Tuned = std::map<rkernel::Policy, TunedTiles>;
  /// `kinds`: first the one that the contraction's dtype is for. `tuned`: what a policy has in
  /// place of a space that is made here.
  GpuPaperSpaces(const GpuMachine& machine, std::vector<GpuKind> kinds, Tuned tuned = {})
      : kinds_(std::move(kinds)), rates_(machine), tuned_(std::move(tuned)) {}

  /// FTuner makes its uKernels for the product at hand.
  static bool depends_on_product(rkernel::Policy policy) {
    return policy == rkernel::Policy::FTuner;
  }
  /// Vortex takes all kinds, by cost for each shape; so does TSCompiler. The others take the first.
  /// `form`: the contraction as each tile meets it. Empty for policies that are no paper's.
  std::vector<GpuTile> tiles(rkernel::Policy policy, const ProductShape& product,
                             const GpuShapeFor& form) const;
  /// A tuner's, whose shapes vote; nullptr where the space is made here.
  const TunedTiles* tuned(rkernel::Policy policy) const;

 private:
  std::vector<GpuTile> made(rkernel::Policy policy) const;

  const std::vector<GpuKind> kinds_;
  const TileRates rates_;
  const Tuned tuned_;
  mutable std::mutex mutex_;
  mutable std::map<rkernel::Policy, std::vector<GpuTile>> made_;
};

}  // namespace dyn::choice
