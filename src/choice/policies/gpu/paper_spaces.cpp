#include "src/choice/policies/gpu/paper_spaces.hpp"

#include "src/choice/policies/gpu/ftuner_tiles.hpp"
#include "src/choice/policies/gpu/mikpoly_tiles.hpp"
#include "src/choice/policies/gpu/pool_tiles.hpp"
#include "src/choice/policies/gpu/vortex_tiles.hpp"

namespace dyn::choice {
namespace {

using rkernel::Policy;

/// Variants of a policy choose from its space.
Policy maker_of(Policy policy) {
  switch (policy) {
    case Policy::MikPolyWave:
    case Policy::MikPolyPipe: return Policy::MikPoly;
    case Policy::VortexAnalytical:
    case Policy::VortexEmpirical: return Policy::Vortex;
    case Policy::VortexFixedAll: return Policy::VortexFixedLowest;
    default: return policy;
  }
}

}  // namespace

std::vector<GpuTile> GpuPaperSpaces::tiles(Policy policy, const ProductShape& product,
                                           const GpuShapeFor& form) const {
  if (kinds_.empty()) return {};
  if (depends_on_product(policy)) return ftuner_tiles(rates_, product, kinds_.front(), form);
  const std::lock_guard lock(mutex_);
  const auto [known, fresh] = made_.try_emplace(maker_of(policy));
  if (fresh) known->second = made(known->first);
  return known->second;
}

std::vector<GpuTile> GpuPaperSpaces::made(Policy policy) const {
  const GpuMachine& machine = rates_.machine();
  switch (policy) {
    case Policy::Vortex: return best_vortex_tiles(all_vortex_tiles(machine, kinds_));
    case Policy::VortexFixedLowest: {
      // A fixed warp has every block that stands on it.
      std::vector<GpuTile> tiles;
      for (const RatedTile& one : all_vortex_tiles(machine, kinds_)) tiles.push_back(one.tile);
      return tiles;
    }
    case Policy::MikPoly: return mikpoly_tiles(machine, kinds_.front());
    case Policy::TSCompiler: return tscompiler_tiles(machine, kinds_);
    case Policy::DietCode: return dietcode_tiles(machine, kinds_.front());
    default: return {};
  }
}

}  // namespace dyn::choice
