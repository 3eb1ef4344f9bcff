#include "src/choice/cost/block_sizes.hpp"

#include <algorithm>

#include "src/base/rounding.hpp"

namespace dyn::choice {
namespace {

// Seconds of one step of K of a tile whose lanes run along K: its multiply-adds, or the loads of
// both sides, two a cycle.
double dot_seconds_per_k(const Machine& machine, const BlockSizes& sizes, double columns) {
  const double rows = sizes.block_m / sizes.row_tiles;
  return std::max(rows * columns, rows + columns) / machine.vector_width *
         seconds_per_multiply_add(machine);
}

// Whether the last column tile is narrower than a panel, as no more of its panel exists.
bool ends_narrow(const Machine& machine, const ContractionShape& shape,
                 const rkernel::Strategy& strategy) {
  const std::int64_t last = shape.n % machine.panel;
  return last > 0 && last <= machine.vector_width &&
         machine.most_rows(machine.vector_width) >= strategy.tile_rows;
}

}  // namespace

double seconds_per_k(const Machine& machine, const rkernel::Tiling& rows, int columns,
                     const rkernel::Factors& factors) {
  double total = 0;
  for (const rkernel::Run& run : {rows.first, rows.second}) {
    if (run.count == 0) continue;
    const TileSpeed* tile = machine.find_tile(static_cast<int>(run.tile), columns, factors);
    total += static_cast<double>(run.count) * (tile != nullptr ? tile->seconds_per_k : 1);
  }
  return rows.tiles() > 0 ? total / static_cast<double>(rows.tiles()) : 0;
}

double seconds_per_multiply_add(const Machine& machine) {
  const int rows = machine.most_rows(machine.panel);
  const TileSpeed* tile = machine.find_tile(rows, machine.panel);
  return tile != nullptr ? tile->seconds_per_k / rows * machine.vector_width / machine.panel
                         : machine.seconds_per_vector_operation;
}

int columns_of_sides(const Machine& machine, const ContractionShape& shape,
                     const rkernel::Strategy& strategy, std::int64_t block_m) {
  if (shape.right_sides == 1 || strategy.tile_columns != machine.panel) return 0;
  const int columns = machine.panel * shape.right_sides;
  const std::int64_t rows = std::min<std::int64_t>(strategy.tile_rows, block_m);
  return rows <= machine.most_rows(columns) ? columns : 0;
}

const BlockSizes& BlockSizer::of(const rkernel::Strategy& strategy) {
  const bool same_tiles =
      strategy.tile_rows == last_.tile_rows && strategy.tile_columns == last_.tile_columns;
  const bool same_rows = same_tiles && strategy.block_m == last_.block_m;
  const bool same_blocks = same_rows && strategy.block_n == last_.block_n;
  if (!same_rows) set_rows(strategy);
  if (!same_blocks) set_columns(strategy);
  if (!same_blocks || strategy.block_k != last_.block_k || strategy.split_k != last_.split_k)
    set_depth(strategy);
  last_ = strategy;
  return sizes_;
}

void BlockSizer::set_rows(const rkernel::Strategy& strategy) {
  const std::int64_t m_blocks = std::max<std::int64_t>(1, ceil_div(shape_.m, strategy.block_m));
  const std::int64_t block_m = ceil_div(shape_.m, m_blocks);
  sizes_.m_blocks = static_cast<double>(m_blocks);
  sizes_.block_m = static_cast<double>(block_m);
  sizes_.rows = rkernel::tiling_of(block_m, strategy.tile_rows);
  sizes_.row_tiles = static_cast<double>(std::max<std::int64_t>(1, sizes_.rows.tiles()));
  sizes_.loop_calls = 1;
  if (strategy.lanes == rkernel::LaneAxis::K) {
    wide_ = dot_seconds_per_k(machine_, sizes_, static_cast<double>(shape_.n));
    return;
  }
  const int together = columns_of_sides(machine_, shape_, strategy, block_m);
  sizes_.loop_calls = together > 0 ? 1 : shape_.right_sides;
  wide_ = seconds_per_k(machine_, sizes_.rows, together > 0 ? together : strategy.tile_columns,
                        shape_.factors());
  narrow_ = ends_narrow(machine_, shape_, strategy)
                ? seconds_per_k(machine_, sizes_.rows, machine_.vector_width, shape_.factors())
                : wide_;
  wide_ *= sizes_.loop_calls;
  narrow_ *= sizes_.loop_calls;
}

void BlockSizer::set_columns(const rkernel::Strategy& strategy) {
  const std::int64_t n_blocks = std::max<std::int64_t>(1, ceil_div(shape_.n, strategy.block_n));
  const std::int64_t panels = ceil_div(ceil_div(shape_.n, machine_.panel), n_blocks);
  const std::int64_t wide = strategy.tile_columns / machine_.panel;
  sizes_.n_blocks = static_cast<double>(n_blocks);
  sizes_.block_n = static_cast<double>(panels * machine_.panel);
  // Panels that do not fill a wide tile run one at a time.
  sizes_.column_tiles = static_cast<double>(wide == 1 ? panels : panels / wide + panels % wide);
  sizes_.seconds_per_k = sizes_.whole_seconds_per_k = wide_;
  if (strategy.lanes != rkernel::LaneAxis::K && ends_narrow(machine_, shape_, strategy)) {
    const double of_last_block = wide_ + (narrow_ - wide_) / sizes_.column_tiles;
    sizes_.seconds_per_k = wide_ + (of_last_block - wide_) / sizes_.n_blocks;
  }
}

void BlockSizer::set_depth(const rkernel::Strategy& strategy) {
  const std::int64_t slice_k =
      strategy.split_k == 1 ? shape_.k : shape_.slice_of_k(strategy.split_k);
  const std::int64_t k_blocks =
      slice_k <= strategy.block_k ? 1 : ceil_div(slice_k, strategy.block_k);
  sizes_.slices = static_cast<double>(strategy.split_k);
  sizes_.k_blocks = static_cast<double>(k_blocks);
  sizes_.block_k = static_cast<double>(slice_k) / sizes_.k_blocks;
}

}  // namespace dyn::choice
