#pragma once
// A paper's policy on a GPU: over the tiles of its own space, with what it knows of each.

#include <memory>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::choice {

/// Rings of stages that one launch has barriers for (barriers of 8 bytes, two of each stage, in
/// GpuTile's 128).
inline constexpr int most_launch_stages = 8;

/// One launch can run two tiles, whatever their threads and engines: a block that has room for
/// either fits the GPU, and there are barriers for both rings.
bool run_together(const GpuMachine& machine, const GpuTile& a, const GpuTile& b);

/// Immutable; thread-safe.
class GpuPaper {
 public:
  /// `tiles` that the GPU holds, of policy's space. `form`: the contraction as each tile meets it;
  /// its sizes do not matter. `sampled`: as of PartitionRules.
  GpuPaper(rkernel::Policy policy, const GpuMachine& machine, std::vector<GpuTile> tiles,
           const GpuShapeFor& form, std::vector<ProductShape> sampled = {});
  ~GpuPaper();

  /// Kernels of the policy's programs are indices into these.
  const std::vector<GpuTile>& tiles() const noexcept { return tiles_; }
  const MicroKernels& kernels() const noexcept { return *kernels_; }
  const PaperPolicy& policy() const noexcept { return *policy_; }

 private:
  std::vector<GpuTile> tiles_;
  std::unique_ptr<const MicroKernels> kernels_;
  std::unique_ptr<const PaperPolicy> policy_;
};

}  // namespace dyn::choice
