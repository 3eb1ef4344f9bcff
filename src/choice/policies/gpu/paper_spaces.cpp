#include "src/choice/policies/gpu/paper_spaces.hpp"

#include "src/choice/policies/gpu/ftuner_tiles.hpp"
#include "src/choice/policies/gpu/mikpoly_tiles.hpp"
#include "src/choice/policies/gpu/pool_tiles.hpp"
#include "src/choice/policies/gpu/vortex_tiles.hpp"

namespace dyn::choice {

using rkernel::Policy;

Policy space_policy(Policy policy) {
  switch (policy) {
    case Policy::MikPolyWave:
    case Policy::MikPolyPipe: return Policy::MikPoly;
    case Policy::VortexAnalytical:
    case Policy::VortexEmpirical: return Policy::Vortex;
    case Policy::VortexFixedAll: return Policy::VortexFixedLowest;
    case Policy::DietCodePadding:
    case Policy::DietCodePartition: return Policy::DietCode;
    default: return policy;
  }
}

std::vector<GpuTile> GpuPaperSpaces::tiles(Policy policy, const ProductShape& product,
                                           const GpuShapeFor& form) const {
  if (kinds_.empty()) return {};
  if (depends_on_product(policy)) return ftuner_tiles(rates_, product, kinds_.front(), form);
  if (const TunedTiles* const found = tuned(policy)) return found->tiles;
  const std::lock_guard lock(mutex_);
  const auto [known, fresh] = made_.try_emplace(space_policy(policy));
  if (fresh) known->second = made(known->first);
  return known->second;
}

const TunedTiles* GpuPaperSpaces::tuned(Policy policy) const {
  const auto found = tuned_.find(space_policy(policy));
  return found == tuned_.end() ? nullptr : &found->second;
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
