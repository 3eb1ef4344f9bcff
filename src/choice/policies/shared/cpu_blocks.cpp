#include "src/choice/policies/shared/cpu_blocks.hpp"

#include "src/choice/policies/dietcode/search.hpp"
#include "src/choice/policies/mikpoly/grid.hpp"
#include "src/choice/policies/tscompiler/macro_kernels.hpp"
#include "src/choice/policies/vortex/layers.hpp"

namespace dyn::choice {
namespace {

/// Layers 0 and 1 are timed: each block at its own depth.
std::vector<BlockPlan> timed_vortex_blocks(const Machine& machine) {
  std::vector<BlockPlan> plans;
  for (const VortexBlock& one :
       all_vortex_blocks(machine, vortex_layers(machine), {}, VortexAnalyser::Mixed))
    plans.push_back({one.block, {one.block.depth}, false});
  return plans;
}

}  // namespace

std::vector<BlockPlan> cpu_blocks(rkernel::Policy policy, const Machine& machine) {
  using rkernel::Policy;
  switch (policy) {
    case Policy::VortexEmpirical: return timed_vortex_blocks(machine);
    case Policy::MikPoly:
    case Policy::MikPolyWave:
    case Policy::MikPolyPipe: return mikpoly_blocks(machine);
    case Policy::TSCompiler: return macro_kernels(machine);
    case Policy::DietCode:
    case Policy::DietCodePadding:
    case Policy::DietCodePartition: return dietcode_blocks(machine);
    case Policy::FTuner:
    case Policy::Vortex:
    case Policy::VortexFixedLowest:
    case Policy::VortexFixedAll:
    case Policy::VortexAnalytical:
    case Policy::Dyn:
    case Policy::Vendor:
    case Policy::Oracle: break;
  }
  return {};
}

}  // namespace dyn::choice
