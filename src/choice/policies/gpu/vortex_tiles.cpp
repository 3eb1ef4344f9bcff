#include "src/choice/policies/gpu/vortex_tiles.hpp"

#include <map>
#include <tuple>

#include "src/choice/policies/vortex/multiples.hpp"

namespace dyn::choice {
namespace {

constexpr int filled_stages = 2;  ///< that a pipeline has at least

GpuTile block_of(const GpuTile& warp, int depth, std::int64_t i, std::int64_t j, std::int64_t l) {
  GpuTile tile = warp;
  tile.block_m = static_cast<int>(i) * warp.warp_m;
  tile.block_n = static_cast<int>(j) * warp.warp_n;
  tile.block_k = static_cast<int>(l) * depth;
  return tile;
}

double filled_bytes(const GpuTile& tile) {
  return static_cast<double>(filled_stages) * (tile.a_stage_bytes() + tile.b_stage_bytes());
}

}  // namespace

std::vector<RatedTile> all_vortex_tiles(const GpuMachine& machine,
                                        const std::vector<GpuKind>& kinds) {
  const double capacity = machine.shared_bytes_per_multiprocessor;
  std::vector<RatedTile> all;
  for (const GpuKind& kind : kinds) {
    const int depth = depth_granule(kind);
    for (const GpuTile& warp : warps_by_isa(kind)) {
      const auto admits = [&](std::int64_t i, std::int64_t j, std::int64_t l) {
        return i * j <= most_block_warps &&
               filled_bytes(block_of(warp, depth, i, j, l)) <= most_utilisation * capacity;
      };
      for_each_multiple(admits, [&](std::int64_t i, std::int64_t j, std::int64_t l) {
        const GpuTile tile = block_of(warp, depth, i, j, l);
        if (filled_bytes(tile) < least_utilisation * capacity) return;
        if (const auto rated = with_stages(machine, tile)) all.push_back(*rated);
      });
    }
  }
  return all;
}

std::vector<GpuTile> best_vortex_tiles(const std::vector<RatedTile>& all) {
  std::map<std::tuple<Engine, int, int, int>, const RatedTile*> best;
  for (const RatedTile& one : all) {
    const GpuTile& tile = one.tile;
    const RatedTile*& known = best[{tile.engine, tile.block_m, tile.block_n, tile.block_k}];
    if (known == nullptr || one.seconds < known->seconds) known = &one;
  }
  std::vector<GpuTile> tiles;
  for (const auto& [block, one] : best) tiles.push_back(one->tile);
  return tiles;
}

}  // namespace dyn::choice
