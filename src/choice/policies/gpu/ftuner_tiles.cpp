#include "src/choice/policies/gpu/ftuner_tiles.hpp"

#include <algorithm>

#include "src/choice/gpu/tile_traffic.hpp"
#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t largest_block = 256;
constexpr int most_thread_rows = 8, most_thread_vectors = 2, most_warp_units = 8;
constexpr int register_granule = 8;  ///< registers of a thread come in units of 8

/// The unit in which extents are factors along an axis, and the largest register tile in it.
struct AxisUnit {
  std::int64_t unit = 1, most_tile = 1;
};
AxisUnit rows_of(const GpuKind& kind) {
  return kind.engine == Engine::TensorCores ? AxisUnit{16, most_warp_units}
                                            : AxisUnit{1, most_thread_rows};
}
AxisUnit columns_of(const GpuKind& kind) {
  return kind.engine == Engine::TensorCores ? AxisUnit{16, most_warp_units}
                                            : AxisUnit{4, most_thread_vectors};
}

std::vector<std::int64_t> extents_of(std::int64_t extent, const AxisUnit& axis) {
  std::vector<std::int64_t> extents;
  for (const std::int64_t factor : axis_factors(ceil_div(extent, axis.unit), axis.most_tile)) {
    if (factor * axis.unit <= largest_block) extents.push_back(factor * axis.unit);
  }
  return extents;
}

/// Register tiles as warps: those of tensor cores, and threads of CUDA cores in every grid of lanes.
std::vector<GpuTile> register_tiles(const ProductShape& shape, const GpuKind& kind) {
  const AxisUnit rows = rows_of(kind), columns = columns_of(kind);
  const std::vector<std::int64_t> m = extents_of(shape.m, rows), n = extents_of(shape.n, columns);
  const auto divides = [](const std::vector<std::int64_t>& extents, int tile) {
    return std::ranges::binary_search(extents, tile);
  };
  std::vector<GpuTile> tiles;
  if (kind.engine == Engine::TensorCores) {
    for (const GpuTile& warp : warps_by_isa(kind)) {
      if (divides(m, warp.warp_m) && divides(n, warp.warp_n)) tiles.push_back(warp);
    }
    return tiles;
  }
  for (int thread_m = most_thread_rows; thread_m > 0; --thread_m) {
    for (int vectors = most_thread_vectors; vectors > 0; --vectors) {
      const int thread_n = vectors * static_cast<int>(columns.unit);
      if (!divides(m, thread_m) || !divides(n, thread_n) || !registers_hold(thread_m, thread_n))
        continue;
      for (int lane_rows = 1; lane_rows <= warp_lanes; lane_rows *= 2)
        tiles.push_back(cuda_warp(lane_rows, thread_m, thread_n));
    }
  }
  return tiles;
}

std::vector<GpuTile> tiles_of_block(const GpuMachine& machine, const ProductShape& shape,
                                    const GpuKind& kind, const MicroKernel& block,
                                    const std::vector<GpuTile>& registers) {
  const int granule = depth_granule(kind),
            capacity = std::min(machine.shared_bytes_per_block,
                                machine.shared_bytes_per_multiprocessor / ftuner_zeta);
  std::vector<GpuTile> tiles;
  for (GpuTile tile : registers) {
    if (block.m % tile.warp_m != 0 || block.n % tile.warp_n != 0) continue;
    tile.block_m = static_cast<int>(block.m);
    tile.block_n = static_cast<int>(block.n);
    if (tile.warps() > most_block_warps) continue;
    for (tile.block_k = granule; 2 * (tile.a_stage_bytes() + tile.b_stage_bytes()) <= capacity;
         tile.block_k *= 2) {
      tiles.push_back(tile);
      if (tile.block_k >= shape.k) break;
    }
  }
  return tiles;
}

double multiply_add_seconds(const RatedTile& rated) {
  const GpuTile& tile = rated.tile;
  return rated.seconds / (static_cast<double>(tile.block_m) * tile.block_n * tile.block_k);
}

}  // namespace

std::vector<MicroKernel> aligned_blocks(const ProductShape& shape, const GpuKind& kind) {
  std::vector<MicroKernel> blocks;
  for (const std::int64_t m : extents_of(shape.m, rows_of(kind)))
    for (const std::int64_t n : extents_of(shape.n, columns_of(kind))) blocks.push_back({m, n, 0});
  return blocks;
}

std::vector<GpuTile> aligned_tiles(const GpuMachine& machine, const ProductShape& shape,
                                   const GpuKind& kind, const MicroKernel& block) {
  return tiles_of_block(machine, shape, kind, block, register_tiles(shape, kind));
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
  const std::vector<GpuTile> registers = register_tiles(shape, kind);
  std::vector<MicroKernel> blocks;
  std::vector<std::vector<GpuTile>> of_blocks;
  for (const MicroKernel& block : aligned_blocks(shape, kind)) {
    std::vector<GpuTile> tiles = tiles_of_block(machine, shape, kind, block, registers);
    std::erase_if(tiles, [&](const GpuTile& tile) {
      return occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks == 0;
    });
    if (tiles.empty()) continue;
    blocks.push_back(block);
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
