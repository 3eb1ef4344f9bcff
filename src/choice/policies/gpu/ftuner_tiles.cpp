#include "src/choice/policies/gpu/ftuner_tiles.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/choice/gpu/tile_traffic.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t largest_block = 256;
constexpr int lane_columns = 4, mma_warp_unit = 16;
constexpr int most_thread_rows = 8, most_thread_vectors = 2, most_warp_units = 8;
constexpr int register_granule = 8;  ///< registers of a thread come in units of 8

/// How a warp's lanes, or the instruction, lie on the outputs: extents are factors in these units.
struct LaneGrid {
  int lane_rows = 0;  ///< CUDA cores; 0: tensor cores
  int rows = 1, columns = 1;
  int most_rows = 1, most_columns = 1;  ///< of a register tile, in units
};

std::vector<LaneGrid> lane_grids(const GpuKind& kind) {
  if (kind.engine == Engine::TensorCores)
    return {{0, mma_warp_unit, mma_warp_unit, most_warp_units, most_warp_units}};
  std::vector<LaneGrid> grids;
  for (int lane_rows = 1; lane_rows <= warp_lanes; lane_rows *= 2)
    grids.push_back({lane_rows, lane_rows, warp_lanes / lane_rows * lane_columns, most_thread_rows,
                     most_thread_vectors});
  return grids;
}

std::optional<GpuTile> register_tile(const GpuKind& kind, const LaneGrid& grid, int rows,
                                     int columns) {
  if (kind.engine == Engine::TensorCores)
    return tensor_warp(kind.operands, rows * grid.rows, columns * grid.columns);
  if (!registers_hold(rows, columns * lane_columns)) return std::nullopt;
  return cuda_warp(grid.lane_rows, rows, columns * lane_columns);
}

/// Factors of an axis in its unit, and those of them that are no more than a block has.
std::vector<std::int64_t> factors_of(std::int64_t extent, int unit, int most_tile) {
  std::vector<std::int64_t> factors = axis_factors(ceil_div(extent, std::int64_t{unit}), most_tile);
  std::erase_if(factors, [&](std::int64_t factor) { return factor * unit > largest_block; });
  return factors;
}

/// Calls `visit` with each multiple of a register tile that is a factor of both axes.
template <class Visit>
void for_each_block(const ProductShape& shape, const GpuKind& kind, const Visit& visit) {
  for (const LaneGrid& grid : lane_grids(kind)) {
    const std::vector<std::int64_t> m = factors_of(shape.m, grid.rows, grid.most_rows),
                                    n = factors_of(shape.n, grid.columns, grid.most_columns);
    for (const std::int64_t rows : m) {
      for (const std::int64_t columns : n) {
        if (rows > grid.most_rows || columns > grid.most_columns) continue;
        std::optional<GpuTile> tile =
            register_tile(kind, grid, static_cast<int>(rows), static_cast<int>(columns));
        if (!tile) continue;
        for (const std::int64_t block_m : m) {
          for (const std::int64_t block_n : n) {
            if (block_m % rows != 0 || block_n % columns != 0) continue;
            tile->block_m = static_cast<int>(block_m) * grid.rows;
            tile->block_n = static_cast<int>(block_n) * grid.columns;
            if (tile->warps() <= most_block_warps) visit(*tile);
          }
        }
      }
    }
  }
}

/// Increasing along K.
void add_depths(const GpuMachine& machine, const ProductShape& shape, const GpuKind& kind,
                GpuTile tile, std::vector<GpuTile>& tiles) {
  const int granule = depth_granule(kind),
            capacity = std::min(machine.shared_bytes_per_block,
                                machine.shared_bytes_per_multiprocessor / ftuner_zeta);
  for (tile.block_k = granule; 2 * (tile.a_stage_bytes() + tile.b_stage_bytes()) <= capacity;
       tile.block_k *= 2) {
    if (occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks == 0)
      return;
    tiles.push_back(tile);
    if (tile.block_k >= shape.k) return;
  }
}

double multiply_add_seconds(const RatedTile& rated) {
  const GpuTile& tile = rated.tile;
  return rated.seconds / (static_cast<double>(tile.block_m) * tile.block_n * tile.block_k);
}

}  // namespace

std::vector<GpuTile> aligned_tiles(const GpuMachine& machine, const ProductShape& shape,
                                   const GpuKind& kind) {
  std::vector<GpuTile> tiles;
  for_each_block(shape, kind,
                 [&](const GpuTile& tile) { add_depths(machine, shape, kind, tile, tiles); });
  return tiles;
}

bool within_bound(const GpuMachine& machine, const GpuTile& tile, const ProductShape& shape) {
  const std::int64_t blocks = blocks_of(shape, {tile.block_m, tile.block_n, tile.block_k}),
                     bound = std::min<std::int64_t>(
                         ftuner_zeta, ceil_div(blocks, std::int64_t{machine.multiprocessors}));
  return bound * tile.threads() * round_up(tile.registers(), register_granule) <=
         machine.registers_per_multiprocessor;
}

std::vector<GpuTile> ftuner_tiles(const TileRates& rates, const ProductShape& shape,
                                  const GpuKind& kind, const GpuShapeFor& form,
                                  const FTunerParameters& parameters) {
  if (!has_outputs(shape)) return {};
  const GpuMachine& machine = rates.machine();
  // CrossPick looks at outputs alone, which many tiles have in common.
  std::map<std::pair<int, int>, std::vector<GpuTile>> by_outputs;
  for_each_block(shape, kind, [&](const GpuTile& tile) {
    by_outputs[{tile.block_m, tile.block_n}].push_back(tile);
  });
  std::vector<MicroKernel> blocks;
  std::vector<std::vector<GpuTile>> of_blocks;
  for (const auto& [outputs, registers] : by_outputs) {
    std::vector<GpuTile> tiles;
    for (const GpuTile& tile : registers) add_depths(machine, shape, kind, tile, tiles);
    if (tiles.empty()) continue;
    blocks.push_back({outputs.first, outputs.second, 0});
    of_blocks.push_back(std::move(tiles));
  }
  std::vector<GpuTile> kept;
  for (const std::size_t block : cross_pick(blocks, shape, machine.multiprocessors, parameters))
    kept.insert(kept.end(), of_blocks[block].begin(), of_blocks[block].end());
  kept = filtered(kept, [&](const GpuTile& tile) { return within_bound(machine, tile, shape); });
  kept = filtered(kept, [&](const GpuTile& tile) {
    return blocks_of(shape, {tile.block_m, tile.block_n, tile.block_k}) >=
           std::int64_t{ftuner_zeta} * machine.multiprocessors;
  });
  const double fastest = kept.empty() ? 0 : multiply_adds_per_cycle(machine, kept.front());
  kept = filtered(kept, [&](const GpuTile& tile) {
    return compute_to_memory(traffic_of(machine, tile, form(tile), fastest),
                             ceil_div(shape.k, std::int64_t{tile.block_k})) >= parameters.psi;
  });
  std::vector<RatedTile> rated;
  for (const GpuTile& tile : kept)
    if (const auto known = rates(tile)) rated.push_back(*known);
  std::ranges::stable_sort(rated, {}, multiply_add_seconds);
  std::vector<GpuTile> tiles;
  for (const RatedTile& one : rated) tiles.push_back(one.tile);
  return tiles;
}

}  // namespace dyn::choice
