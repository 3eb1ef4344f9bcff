#include "src/choice/policies/tscompiler/macro_kernels.hpp"

#include "src/choice/policies/shared/block_kernels.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

const std::vector<std::int64_t> wave_depths{32, 128, 512, 1536, 4096};

}  // namespace

std::vector<BlockPlan> macro_kernels(const Machine& machine) {
  std::vector<BlockPlan> plans;
  for (const BlockKernel& block : block_kernels(machine))
    plans.push_back({block, wave_depths, true});
  return plans;
}

double wave_model_seconds(const ProductShape& shape, const MicroKernel& kernel,
                          std::int64_t blocks_per_wave, double wave_seconds) {
  return static_cast<double>(ceil_div(blocks_of(shape, kernel), blocks_per_wave)) * wave_seconds;
}

}  // namespace dyn::choice
