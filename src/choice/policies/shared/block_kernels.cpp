#include "src/choice/policies/shared/block_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/bytes.hpp"
#include "src/choice/policies/shared/best_together.hpp"

namespace dyn::choice {
namespace {

constexpr std::size_t most_kernels = 40;
constexpr std::int64_t most_rows = 256, most_columns = 512;
constexpr double synthetic_depth = 1024;
constexpr std::int64_t most_synthetic = 4096;
constexpr double synthetic_factor = 1.3;

std::vector<BlockKernel> all_blocks(const Machine& machine) {
  std::vector<BlockKernel> blocks;
  for (int columns = machine.panel; machine.most_rows(columns) > 0; columns *= 2) {
    for (int rows = 1; rows <= machine.most_rows(columns); ++rows) {
      for (std::int64_t m = rows; m <= most_rows; m *= 4) {
        for (std::int64_t n = columns; n <= most_columns; n *= 4)
          blocks.push_back({rows, columns, m, n});
      }
    }
  }
  return blocks;
}

// The time of one block over the synthetic depth: its tiles, or what they read from beyond L2,
// whichever takes longer.
double block_seconds(const Machine& machine, const BlockKernel& block) {
  const std::int64_t row_tiles = block.rows / block.tile_rows,
                     column_tiles = block.columns / block.tile_columns;
  const double tiles = static_cast<double>(row_tiles) * static_cast<double>(column_tiles);
  const double compute =
      tiles *
      (synthetic_depth * machine.find_tile(block.tile_rows, block.tile_columns)->seconds_per_k +
       machine.seconds_per_call);
  const std::size_t level = std::min<std::size_t>(2, machine.levels.size() - 1);
  const double read = static_cast<double>(block.rows + block.columns) * synthetic_depth *
                      float_bytes / machine.bandwidth_per_thread(level, machine.threads);
  return std::max(compute, read) + machine.seconds_per_ticket;
}

std::int64_t next_size(std::int64_t size) {
  return std::max(size + 1, static_cast<std::int64_t>(
                                std::llround(static_cast<double>(size) * synthetic_factor)));
}

// For each synthetic size, the block's throughput as a share of the best one's.
std::vector<std::vector<double>> shares_of(const Machine& machine,
                                           const std::vector<BlockKernel>& blocks) {
  std::vector<std::vector<double>> shares(blocks.size());
  std::vector<double> seconds(blocks.size());
  std::ranges::transform(blocks, seconds.begin(),
                         [&](const BlockKernel& block) { return block_seconds(machine, block); });
  for (std::int64_t m = 1; m <= most_synthetic; m = next_size(m)) {
    for (std::int64_t n = machine.panel; n <= most_synthetic; n *= 2) {
      double best = 0;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::int64_t tasks = (m + blocks[i].rows - 1) / blocks[i].rows *
                                   ((n + blocks[i].columns - 1) / blocks[i].columns);
        const double total = std::ceil(static_cast<double>(tasks) / machine.threads) * seconds[i];
        shares[i].push_back(1 / total);
        best = std::max(best, 1 / total);
      }
      for (std::vector<double>& of_block : shares) of_block.back() /= best;
    }
  }
  return shares;
}

}  // namespace

std::vector<BlockKernel> block_kernels(const Machine& machine) {
  const std::vector<BlockKernel> blocks = all_blocks(machine);
  std::vector<BlockKernel> kept;
  for (const std::size_t block : best_together(shares_of(machine, blocks), most_kernels))
    kept.push_back(blocks[block]);
  return kept;
}

}  // namespace dyn::choice
