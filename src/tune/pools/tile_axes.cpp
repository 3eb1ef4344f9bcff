#include "src/tune/pools/tile_axes.hpp"

#include <algorithm>
#include <set>

#include "src/choice/gpu/micro_kernels.hpp"

namespace dyn::tune {
namespace {

using choice::GpuKind;
using choice::GpuMachine;
using choice::GpuTile;

const std::vector<std::int64_t> warps_along{1, 2, 3, 4, 6, 8, 12, 16, 32},
    steps{1, 2, 3, 4, 6, 8, 12, 16};
constexpr int wanted_blocks = 2;

enum TileAxis : std::uint8_t {
  OfKind,
  ThreadRows,
  ThreadColumns,
  WarpRows,
  WarpColumns,
  WarpsDown,
  WarpsAcross,
  Steps,
  Stages
};

/// One number, so that an engine and its operands are one axis.
constexpr std::int64_t dtypes = 256;
std::int64_t number_of(const GpuKind& kind) {
  return static_cast<std::int64_t>(kind.engine) * dtypes + static_cast<std::int64_t>(kind.operands);
}
GpuKind kind_of(std::int64_t number) {
  return {static_cast<choice::Engine>(number / dtypes), static_cast<DType>(number % dtypes)};
}

Values values_of_tile(const GpuTile& tile) {
  const GpuKind kind{tile.engine, tile.operands};
  return {number_of(kind),
          tile.thread_m,
          tile.thread_n,
          tile.warp_m,
          tile.warp_n,
          tile.block_m / tile.warp_m,
          tile.block_n / tile.warp_n,
          tile.block_k / choice::depth_granule(kind),
          tile.stages};
}

int resident(const GpuMachine& machine, const GpuTile& tile) {
  return choice::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
}

}  // namespace

GpuTile tile_at(const Values& values) {
  const auto at = [&](TileAxis axis) { return static_cast<int>(values[axis]); };
  const GpuKind kind = kind_of(values[OfKind]);
  GpuTile tile;
  tile.engine = kind.engine;
  tile.operands = kind.operands;
  tile.thread_m = at(ThreadRows);
  tile.thread_n = at(ThreadColumns);
  tile.warp_m = at(WarpRows);
  tile.warp_n = at(WarpColumns);
  tile.block_m = at(WarpsDown) * tile.warp_m;
  tile.block_n = at(WarpsAcross) * tile.warp_n;
  tile.block_k = at(Steps) * choice::depth_granule(kind);
  return choice::at_stages(tile, at(Stages));
}

Space tile_space(const GpuMachine& machine, const std::vector<GpuKind>& kinds,
                 const std::vector<GpuTile>& seeds) {
  std::vector<std::int64_t> numbers;
  std::set<choice::BelowBlock> warps;
  std::set<std::int64_t> thread_rows, thread_columns, warp_rows, warp_columns;
  for (const GpuKind& kind : kinds) {
    numbers.push_back(number_of(kind));
    for (const GpuTile& warp : choice::warps_by_isa(kind)) {
      warps.insert(choice::below_block(warp));
      thread_rows.insert(warp.thread_m);
      thread_columns.insert(warp.thread_n);
      warp_rows.insert(warp.warp_m);
      warp_columns.insert(warp.warp_n);
    }
  }
  const bool has_tensor_cores = std::ranges::any_of(
      kinds, [](const GpuKind& kind) { return kind.engine == choice::Engine::TensorCores; });
  const auto listed = [](const std::set<std::int64_t>& values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  Space space;
  space.parameters = {{"engine", numbers, false},
                      {"thread rows", listed(thread_rows)},
                      {"thread columns", listed(thread_columns)},
                      {"warp rows", listed(warp_rows)},
                      {"warp columns", listed(warp_columns)},
                      {"warps along M", warps_along},
                      {"warps along N", warps_along},
                      {"steps of K", steps},
                      {"stages", {std::begin(choice::few_stages), std::end(choice::few_stages)}}};
  space.allowed = [warps](const Values& values) {
    return warps.contains(choice::below_block(tile_at(values)));
  };
  space.fits = [&machine](const Values& values) {
    const GpuTile tile = tile_at(values);
    return tile.warps() <= choice::most_block_warps && resident(machine, tile) > 0;
  };
  space.unmet = [&machine, has_tensor_cores](const Values& values) {
    const GpuTile tile = tile_at(values);
    const bool misses = has_tensor_cores && tile.engine != choice::Engine::TensorCores;
    return (misses ? 1.0 : 0.0) + (resident(machine, tile) < wanted_blocks ? 1.0 : 0.0);
  };
  for (const GpuTile& seed : seeds) space.seeds.push_back(values_of_tile(seed));
  return space;
}

}  // namespace dyn::tune
