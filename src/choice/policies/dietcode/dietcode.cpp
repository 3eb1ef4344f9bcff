#include "src/choice/policies/dietcode/voted_policy.hpp"
#include "src/choice/policies/shared/papers.hpp"

namespace dyn::choice {
namespace {

constexpr int steps_of_octave = 4;

/// Equation 3: the kernel of most cost on the whole output. Its tiles pad locally.
class DietCode final : public VotedPolicy {
 public:
  DietCode(const MicroKernels& kernels, const PartitionRules& rules)
      : VotedPolicy(kernels, rules, steps_of_octave) {
    take_votes();
  }

 protected:
  KernelCover cover(std::size_t kernel, const ProductShape& shape) const override {
    return {.kernels = {kernel}, .merit = cost()(kernel, shape)};
  }
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_dietcode(const MicroKernels& kernels,
                                                 const PartitionRules& rules) {
  return std::make_unique<DietCode>(kernels, rules);
}

}  // namespace dyn::choice
