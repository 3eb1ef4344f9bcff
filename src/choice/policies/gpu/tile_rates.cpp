#include "src/choice/policies/gpu/tile_rates.hpp"

namespace dyn::choice {

std::optional<RatedTile> TileRates::operator()(const GpuTile& tile) const {
  const std::lock_guard lock(mutex_);
  const auto [known, fresh] = known_.try_emplace(tile);
  if (fresh) known->second = with_stages(machine_, tile);
  return known->second;
}

}  // namespace dyn::choice
