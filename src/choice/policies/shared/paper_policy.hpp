#pragma once
// The policies of the papers, behind one interface: given micro-kernels and a shape, what to run?

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/rkernel/target/policy.hpp"

namespace dyn::choice {

/// A part of the output, for each of the batch, and the micro-kernel that computes it.
struct KernelRegion {
  std::int64_t m0 = 0, m = 0, n0 = 0, n = 0;
  std::size_t kernel = 0;
  bool operator==(const KernelRegion&) const = default;
};

/// A cover of the output, and what a policy thinks of it.
struct KernelProgram {
  std::vector<KernelRegion> regions;
  double merit = 0;               ///< more is better; comparable within one policy
  std::optional<double> seconds;  ///< of a policy that predicts time: -merit
};

/// Immutable; thread-safe.
class PaperPolicy {
 public:
  virtual ~PaperPolicy() = default;
  /// Calls `visit` for every program that is considered for a shape, in a fixed order; what bounds
  /// rule out unseen is not considered. None for a shape without outputs.
  virtual void for_each(const ProductShape& shape,
                        const std::function<void(const KernelProgram&)>& visit) const = 0;
  /// The one that the policy takes; of equal merit the earlier. Without regions where there is
  /// none.
  virtual KernelProgram choose(const ProductShape& shape) const = 0;
};

/// How many regions a program may have: the output whole, where kernels each run one; two, where
/// the hardware schedules blocks; as many as patterns have, where software does.
enum class Regions : std::uint8_t { Whole, Two, Any };

/// The cuts that a policy may make, beside what its kernels say.
struct PartitionRules {
  Regions regions = Regions::Two;
  std::int64_t panel = 1;  ///< borders between regions along n are multiples of it
  /// DietCode: the shapes that its kernels were tuned for, which vote; none: fixed ones do.
  std::vector<ProductShape> sampled = {};
};

/// The policy of a paper, or an ablation; nullptr for the others. `kernels` must outlive it.
std::unique_ptr<const PaperPolicy> make_paper_policy(rkernel::Policy policy,
                                                     const MicroKernels& kernels,
                                                     const PartitionRules& rules);

}  // namespace dyn::choice
