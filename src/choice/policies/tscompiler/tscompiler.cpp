#include "src/choice/policies/shared/one_region.hpp"
#include "src/choice/policies/shared/papers.hpp"
#include "src/choice/policies/tscompiler/macro_kernels.hpp"

namespace dyn::choice {
namespace {

/// TSCompiler, section 6: s* = argmin of T_s * ceil(blocks / blocks per wave). T_s is the latency
/// of one wave, known before shapes are (wave_seconds); a wave is as many blocks as the machine can
/// hold at once (blocks_per_wave).
class TSCompiler final : public OneRegionPolicy {
 public:
  explicit TSCompiler(const MicroKernels& kernels) : OneRegionPolicy(kernels, true) {}

 protected:
  double merit(std::size_t kernel, const ProductShape& shape) const override {
    return -wave_model_seconds(shape, kernels()[kernel], kernels().blocks_per_wave(kernel),
                               kernels().wave_seconds(kernel, shape.k));
  }
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_tscompiler(const MicroKernels& kernels) {
  return std::make_unique<TSCompiler>(kernels);
}

}  // namespace dyn::choice
