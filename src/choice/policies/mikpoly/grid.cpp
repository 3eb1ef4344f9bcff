#include "src/choice/policies/mikpoly/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/policies/mikpoly/ranking.hpp"

namespace dyn::choice {
namespace {

constexpr double longest_run = 3e-3;  ///< seconds, predicted, of a task that is timed
constexpr std::int64_t most_operand_bytes = 16 << 20;

/// The tile of whole panels with which a block takes the least time; false where there is none.
bool set_tile(const Machine& machine, BlockKernel& block) {
  double least = 0;
  bool found = false;
  BlockKernel tried = block;
  for (const TileSpeed& tile : machine.tiles) {
    if (tile.columns < machine.panel || block.columns % tile.columns != 0) continue;
    tried.tile_rows = tile.rows, tried.tile_columns = tile.columns;
    const double seconds = compute_seconds(machine, tried, block.depth, {});
    if (!found || seconds < least) least = seconds, block = tried;
    found = true;
  }
  return found;
}

std::vector<std::int64_t> timed_depths(const Machine& machine, const BlockKernel& block,
                                       std::int64_t n_pred) {
  std::vector<std::int64_t> depths;
  for (const std::int64_t n : timed_instances(n_pred)) {
    const std::int64_t depth = n * block.depth;
    const bool small = predicted_seconds(machine, block, depth, {}, 1) <= longest_run &&
                       (block.rows + block.columns) * depth * float_bytes <= most_operand_bytes;
    if (n > 2 && !small) break;
    depths.push_back(depth);
  }
  return depths;
}

}  // namespace

std::vector<BlockKernel> mikpoly_grid(const Machine& machine, const MikPolyParameters& parameters) {
  const std::int64_t granule = MikPolyParameters::granule, most = granule * parameters.n_gen,
                     columns = std::lcm(granule, static_cast<std::int64_t>(machine.panel));
  const std::int64_t capacity = block_memory(machine).bytes / float_bytes;
  std::vector<BlockKernel> grid;
  for (std::int64_t m = granule; m <= most; m += granule) {
    for (std::int64_t n = columns; n <= most; n += columns) {
      for (std::int64_t k = granule; k <= most; k += granule) {
        if ((m + n) * k + m * n > capacity) break;
        BlockKernel block{.rows = m, .columns = n, .depth = k};
        if (set_tile(machine, block)) grid.push_back(block);
      }
    }
  }
  return grid;
}

std::vector<BlockPlan> mikpoly_blocks(const Machine& machine, const MikPolyParameters& parameters) {
  const std::vector<BlockKernel> grid = mikpoly_grid(machine, parameters);
  std::vector<double> throughputs;
  for (const BlockKernel& block : grid) {
    throughputs.push_back(mean_throughput(
        {block.rows, block.columns, block.depth}, machine.threads, parameters.n_syn,
        [&](std::int64_t k) { return predicted_seconds(machine, block, k, {}, 1); }));
  }
  std::vector<BlockPlan> plans;
  for (const std::size_t best : most_of(throughputs, parameters.n_mik)) {
    const BlockKernel& block = grid[best];
    plans.push_back({block, timed_depths(machine, block, parameters.n_pred), false});
  }
  return plans;
}

}  // namespace dyn::choice
