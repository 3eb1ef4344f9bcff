#include "src/choice/policies/gpu/mikpoly_tiles.hpp"

#include <algorithm>

#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

/// Warps of a block of the grid, and how its steps go on.
std::vector<GpuTile> ways_to_fill(const std::vector<GpuTile>& warps, int m, int n) {
  std::vector<GpuTile> ways;
  for (GpuTile tile : warps) {
    if (m % tile.warp_m != 0 || n % tile.warp_n != 0) continue;
    tile.block_m = m;
    tile.block_n = n;
    if (tile.warps() <= most_block_warps) ways.push_back(tile);
  }
  return ways;
}

bool fits_local_memory(const GpuMachine& machine, const GpuTile& tile) {
  return 2 * (tile.a_stage_bytes() + tile.b_stage_bytes()) <= machine.shared_bytes_per_block;
}

double grid_throughput(const GpuMachine& machine, const GpuTile& tile, int n_syn) {
  const auto with_steps = [&](int steps) {
    return gpu_wave(machine, timed_form(tile, std::int64_t{steps} * tile.block_k), tile, 1)
        .seconds();
  };
  const double first = with_steps(1), next = with_steps(2) - first;
  const auto seconds = [&](std::int64_t k) {
    const std::int64_t later_steps = k / tile.block_k - 1;
    return first + static_cast<double>(later_steps) * next;
  };
  return mean_throughput({tile.block_m, tile.block_n, tile.block_k}, machine.multiprocessors, n_syn,
                         seconds);
}

}  // namespace

std::vector<GpuTile> mikpoly_tile_grid(const GpuMachine& machine, const GpuKind& kind,
                                       const MikPolyParameters& parameters) {
  const int granule = static_cast<int>(MikPolyParameters::granule),
            most = granule * parameters.n_gen;
  const std::vector<GpuTile> warps = warps_by_isa(kind);
  std::vector<GpuTile> grid;
  for (int m = granule; m <= most; m += granule) {
    for (int n = granule; n <= most; n += granule) {
      const std::vector<GpuTile> ways = ways_to_fill(warps, m, n);
      for (int k = granule; k <= most && !ways.empty(); k += granule) {
        if (k % depth_granule(kind) != 0) continue;
        std::optional<RatedTile> best;
        for (GpuTile tile : ways) {
          tile.block_k = k;
          if (!fits_local_memory(machine, tile)) break;
          const auto rated = with_stages(machine, tile);
          if (rated && (!best || rated->seconds < best->seconds)) best = rated;
        }
        if (best) grid.push_back(best->tile);
      }
    }
  }
  return grid;
}

std::vector<GpuTile> mikpoly_tiles(const GpuMachine& machine, const GpuKind& kind,
                                   const MikPolyParameters& parameters) {
  const std::vector<GpuTile> grid = mikpoly_tile_grid(machine, kind, parameters);
  std::vector<double> throughputs;
  for (const GpuTile& tile : grid)
    throughputs.push_back(grid_throughput(machine, tile, parameters.n_syn));
  std::vector<GpuTile> tiles;
  for (const std::size_t best : most_of(throughputs, parameters.n_mik)) tiles.push_back(grid[best]);
  return tiles;
}

std::vector<PiecewiseLinear> learned_tasks(const MicroKernels& kernels, std::int64_t n_pred) {
  std::vector<PiecewiseLinear> learned;
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    std::vector<PiecewiseLinear::Point> points;
    for (const std::int64_t instances : timed_instances(n_pred)) {
      const std::int64_t depth = instances * kernels[kernel].k;
      points.push_back({static_cast<double>(depth), kernels.task_seconds(kernel, depth)});
    }
    learned.push_back(PiecewiseLinear::fitted(points));
  }
  return learned;
}

}  // namespace dyn::choice
