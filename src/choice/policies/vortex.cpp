#include "src/choice/policies/one_region.hpp"
#include "src/choice/policies/papers.hpp"

namespace dyn::choice {
namespace {

/// Vortex, equations 1 to 4: the kernel with the least
///   Cost(L) = F_parallel * T_temporal, F_parallel = ceil(sizeof(ParallelLoop) / HardwareUnits),
///   T_temporal = T_load + (sizeof(TemporalLoop) - 1) * max(T_load, Cost(L-1)) + Cost(L-1) +
///   T_store,
/// layer by layer, as the machine's MicroKernels::vortex_seconds has it. One region: Vortex knows
/// no others.
class Vortex final : public OneRegionPolicy {
 public:
  explicit Vortex(const MicroKernels& kernels) : OneRegionPolicy(kernels, true) {}

 protected:
  double merit(std::size_t kernel, const ProductShape& shape) const override {
    return -kernels().vortex_seconds(kernel, shape);
  }
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_vortex(const MicroKernels& kernels) {
  return std::make_unique<Vortex>(kernels);
}

}  // namespace dyn::choice
