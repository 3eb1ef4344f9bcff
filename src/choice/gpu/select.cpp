#include <limits>

#include "src/choice/calibration/calibration.hpp"
#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

GpuChoice select_gpu_tile(const GpuMachine& machine, const GpuShapeFor& shape_for,
                          const std::vector<GpuTile>& tiles) {
  std::vector<double> costs;
  double least = std::numeric_limits<double>::infinity();
  for (const GpuTile& tile : tiles) {
    const bool fits =
        occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks > 0;
    costs.push_back(fits ? gpu_contraction_cost(machine, shape_for(tile), tile)
                         : std::numeric_limits<double>::infinity());
    least = std::min(least, costs.back());
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i] <= least * default_calibration().gpu_equal_within &&
        costs[i] < std::numeric_limits<double>::infinity())
      return {static_cast<int>(i), costs[i]};
  }
  return {};
}

GpuChoice select_gpu_tile(const GpuMachine& machine, const GpuContraction& shape,
                          const std::vector<GpuTile>& tiles) {
  return select_gpu_tile(machine, [&](const GpuTile&) { return shape; }, tiles);
}

}  // namespace dyn::choice
