#pragma once
// The blocks of each paper's policy on a CPU.

#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/rkernel/target/policy.hpp"

namespace dyn::choice {

/// The blocks of policies that time them: MikPoly, TSCompiler, DietCode and Vortex with layer 1
/// measured. Those of Vortex (vortex/layers.hpp) and FTuner (ftuner/ukernels.hpp) need no timing,
/// and depend on operands, or on the problem.
std::vector<BlockPlan> cpu_blocks(rkernel::Policy policy, const Machine& machine);

}  // namespace dyn::choice
