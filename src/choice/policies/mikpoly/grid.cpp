#include "src/choice/policies/mikpoly/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t granule = 16;
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

/// Sums over synthetic sizes of M * N / f_wave, and of K / g_predict: the mean throughput of a
/// kernel by pattern I is, but for a constant, their product.
double throughput(const Machine& machine, const BlockKernel& block, int n_syn) {
  double outputs = 0, depths = 0;
  for (int i = 0; i <= n_syn; ++i) {
    const std::int64_t m = std::int64_t{1} << i;
    for (int j = 0; j <= n_syn; ++j) {
      const std::int64_t n = std::int64_t{1} << j;
      const std::int64_t tasks = ceil_div(m, block.rows) * ceil_div(n, block.columns);
      outputs += static_cast<double>(m * n) /
                 static_cast<double>(ceil_div(tasks, std::int64_t{machine.threads}));
    }
    const std::int64_t k = round_up(m, block.depth);
    depths += static_cast<double>(m) / predicted_seconds(machine, block, k, {}, 1);
  }
  return outputs * depths;
}

std::vector<std::int64_t> timed_depths(const Machine& machine, const BlockKernel& block,
                                       std::int64_t n_pred) {
  std::vector<std::int64_t> depths;
  for (std::int64_t n = 1; n <= n_pred;) {
    const std::int64_t depth = n * block.depth;
    const bool small = predicted_seconds(machine, block, depth, {}, 1) <= longest_run &&
                       (block.rows + block.columns) * depth * float_bytes <= most_operand_bytes;
    if (n > 2 && !small) break;
    depths.push_back(depth);
    const bool power = (n & (n - 1)) == 0;
    n = n == n_pred ? n + 1 : std::min(n_pred, n == 1 ? 2 : power ? n / 2 * 3 : n / 3 * 4);
  }
  return depths;
}

}  // namespace

std::vector<BlockKernel> mikpoly_grid(const Machine& machine, const MikPolyParameters& parameters) {
  const std::int64_t most = granule * parameters.n_gen,
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
  std::vector<std::pair<double, std::size_t>> ranked;  // ascending: the best first
  for (std::size_t i = 0; i < grid.size(); ++i)
    ranked.emplace_back(-throughput(machine, grid[i], parameters.n_syn), i);
  const std::size_t kept = std::min(parameters.n_mik, ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(kept));
  std::vector<BlockPlan> plans;
  for (std::size_t i = 0; i < kept; ++i) {
    const BlockKernel& block = grid[ranked[i].second];
    plans.push_back({block, timed_depths(machine, block, parameters.n_pred), false});
  }
  return plans;
}

}  // namespace dyn::choice
