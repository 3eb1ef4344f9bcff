#pragma once
// The space of each paper's policy on one GPU.

#include <map>
#include <mutex>
#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/gpu/tile_rates.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/rkernel/target/policy.hpp"

namespace dyn::choice {

/// Tiles by which a paper's policy computes contractions of the same kinds. Made when they are
/// first asked for, and kept, but those that depend on the product. Thread-safe.
class GpuPaperSpaces {
 public:
  /// `kinds`: first the one that the contraction's dtype is for.
  GpuPaperSpaces(const GpuMachine& machine, std::vector<GpuKind> kinds)
      : kinds_(std::move(kinds)), rates_(machine) {}

  /// FTuner makes its uKernels for the product at hand.
  static bool depends_on_product(rkernel::Policy policy) {
    return policy == rkernel::Policy::FTuner;
  }
  /// Vortex takes all kinds, by cost for each shape; so does TSCompiler. The others take the first.
  /// `form`: the contraction as each tile meets it. Empty for policies that are no paper's.
  std::vector<GpuTile> tiles(rkernel::Policy policy, const ProductShape& product,
                             const GpuShapeFor& form) const;

 private:
  std::vector<GpuTile> made(rkernel::Policy policy) const;

  const std::vector<GpuKind> kinds_;
  const TileRates rates_;
  mutable std::mutex mutex_;
  mutable std::map<rkernel::Policy, std::vector<GpuTile>> made_;
};

}  // namespace dyn::choice
