#include "src/choice/policies/tscompiler/macro_kernels.hpp"

#include "src/choice/policies/shared/block_kernels.hpp"

namespace dyn::choice {
namespace {

const std::vector<std::int64_t> wave_depths{32, 128, 512, 1536, 4096};

}  // namespace

std::vector<BlockPlan> macro_kernels(const Machine& machine,
                                     const std::vector<BlockKernel>& tuned) {
  std::vector<BlockPlan> plans;
  for (const BlockKernel& block : tuned.empty() ? block_kernels(machine) : tuned)
    plans.push_back({block, wave_depths, true});
  return plans;
}

}  // namespace dyn::choice
