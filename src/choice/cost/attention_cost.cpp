#include "src/choice/cost/attention_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/cost/block_sizes.hpp"

namespace dyn::choice {
namespace {

struct AttentionSizes {
  double row_blocks, block_rows;             ///< of the threads' layer
  double part_keys, key_blocks, block_keys;  ///< of one ticket; under a causal mask on average
  rkernel::Tiling tiles;
  double row_tiles;
};

/// The part of all scores that a causal mask leaves.
double visible_share(const AttentionShape& shape) {
  if (!shape.causal || shape.keys == 0) return 1;
  return std::clamp(
      1 - static_cast<double>(shape.queries - 1) / (2 * static_cast<double>(shape.keys)), 0.0, 1.0);
}

AttentionSizes sizes_of(const AttentionShape& shape, const AttentionStrategy& strategy) {
  AttentionSizes sizes;
  const std::int64_t blocks =
      std::max<std::int64_t>(1, ceil_div(shape.queries, strategy.block_rows));
  const std::int64_t rows = ceil_div(shape.queries, blocks);
  sizes.row_blocks = static_cast<double>(blocks);
  sizes.block_rows = static_cast<double>(rows);
  sizes.part_keys =
      static_cast<double>(shape.keys) * visible_share(shape) / static_cast<double>(strategy.splits);
  sizes.block_keys =
      std::min(static_cast<double>(strategy.block_keys), std::max(1.0, sizes.part_keys));
  sizes.key_blocks = sizes.part_keys / sizes.block_keys;
  sizes.tiles = rkernel::equal_tiling(rows, strategy.tile_rows);
  sizes.row_tiles = static_cast<double>(std::max<std::int64_t>(1, sizes.tiles.tiles()));
  return sizes;
}

/// A key's row and its values.
double bytes_of_key(const AttentionShape& shape) {
  return static_cast<double>(shape.depth * shape.key_bytes + shape.value_depth * shape.value_bytes);
}

/// Scores, softmax and products of one tile of rows with one block of keys, all of it in L1.
double tile_seconds(const Machine& machine, const AttentionShape& shape,
                    const AttentionStrategy& strategy, const AttentionSizes& sizes) {
  const double rows = sizes.block_rows / sizes.row_tiles, lanes = machine.vector_width;
  const double depth = static_cast<double>(shape.depth);
  const rkernel::Factors factors = factors_of(shape, strategy.form);
  const double step = seconds_per_k(machine, sizes.tiles, strategy.tile_columns, factors) /
                      rkernel::elements_of(factors.group);
  const auto tiles = [&](double columns) {
    return std::ceil(columns / machine.panel) * machine.panel / strategy.tile_columns;
  };
  double scores = 0;
  if (strategy.form == ScoreForm::Panels) {
    scores = tiles(sizes.block_keys) * (depth * step + machine.seconds_per_call);
  } else {
    scores = rows * sizes.block_keys * (depth / lanes + machine.fitted.dot_operations) *
             machine.seconds_per_vector_operation;
  }
  const double softmax =
      rows * sizes.block_keys / lanes *
      (machine.fitted.softmax_operations + (shape.masked ? machine.fitted.mask_operations : 0));
  const double rescale =
      rows * static_cast<double>(shape.value_depth) / lanes * machine.fitted.rescale_operations;
  const double products = tiles(static_cast<double>(shape.value_depth)) *
                          (sizes.block_keys * step + machine.seconds_per_call);
  return scores + products + (softmax + rescale) * machine.seconds_per_vector_operation;
}

LayerTerms tile_terms(const Machine& machine, const AttentionShape& shape,
                      const AttentionSizes& sizes, int active) {
  LayerTerms terms{.name = "L1"};
  terms.spatial_trips = sizes.row_tiles;
  const double bytes = sizes.block_keys * bytes_of_key(shape);
  const auto scores_bytes = static_cast<std::int64_t>(sizes.block_rows / sizes.row_tiles *
                                                      sizes.block_keys * float_bytes);
  const std::size_t level =
      std::max<std::size_t>(1, machine.level_of(2 * static_cast<std::int64_t>(bytes)));
  terms.load = bytes / machine.bandwidth_per_thread(level, active);
  // Scores that leave L1 are written and read again.
  const std::size_t score_level = machine.level_of(2 * scores_bytes);
  if (score_level > 0)
    terms.load +=
        3 * static_cast<double>(scores_bytes) / machine.bandwidth_per_thread(score_level, active);
  return terms;
}

/// Bringing one block of keys and values near: read once from where all of them are, keys turned
/// into panels.
double move_seconds(const Machine& machine, const AttentionShape& shape,
                    const AttentionStrategy& strategy, const AttentionSizes& sizes, int active) {
  const double keys = sizes.block_keys * static_cast<double>(shape.depth),
               values = sizes.block_keys * static_cast<double>(shape.value_depth),
               bytes = sizes.block_keys * bytes_of_key(shape);
  // Blocks of rows of one head find there what the block before them has read.
  const double total = static_cast<double>(shape.keys) * bytes_of_key(shape);
  const auto head = static_cast<std::int64_t>(total),
             all = static_cast<std::int64_t>(total * static_cast<double>(shape.batch));
  const double first =
      machine.bandwidth_per_thread(std::max<std::size_t>(1, machine.level_of(all)), active);
  const double again =
      machine.bandwidth_per_thread(std::max<std::size_t>(1, machine.level_of(head)), active);
  double seconds = bytes * (1 / first + (sizes.row_blocks - 1) / again) / sizes.row_blocks;
  const bool packs_keys = strategy.form == ScoreForm::Panels;
  const double vectors =
      (packs_keys ? keys : 0) + (shape.values_unit && !(packs_keys && shape.pairs) ? 0 : values);
  seconds += vectors / machine.vector_width * machine.fitted.transpose_operations *
             machine.seconds_per_vector_operation;
  return seconds;
}

/// The second stage: each row's partial results are read once.
double merge_seconds(const Machine& machine, const AttentionShape& shape,
                     const AttentionStrategy& strategy, int threads) {
  if (strategy.splits == 1) return 0;
  const double rows = static_cast<double>(shape.batch * shape.queries) / threads;
  const double vectors = static_cast<double>(shape.value_depth) / machine.vector_width +
                         machine.fitted.softmax_operations;
  return machine.seconds_per_ticket + machine.seconds_per_call +
         rows * static_cast<double>(strategy.splits) * vectors * 2 *
             machine.seconds_per_vector_operation;
}

}  // namespace

rkernel::Factors factors_of(const AttentionShape& shape, ScoreForm form) {
  return shape.pairs && form == ScoreForm::Panels ? rkernel::Factors(rkernel::Group::Bfloats)
                                                  : rkernel::Factors();
}

double attention_cost(const Machine& machine, const AttentionShape& shape,
                      const AttentionStrategy& strategy, int threads, CostBreakdown* breakdown) {
  const AttentionSizes sizes = sizes_of(shape, strategy);
  const double tickets =
      static_cast<double>(shape.batch) * sizes.row_blocks * static_cast<double>(strategy.splits);
  const int active = static_cast<int>(std::clamp(tickets, 1.0, static_cast<double>(threads)));
  const double tile = tile_seconds(machine, shape, strategy, sizes);
  const LayerTerms l1 = tile_terms(machine, shape, sizes, active);
  LayerTerms l2{.name = "L2"};
  l2.reduction_trips = sizes.key_blocks;
  l2.load = move_seconds(machine, shape, strategy, sizes, active);
  LayerTerms top{.name = "threads"};
  top.parallel_trips = tickets;
  top.units = threads;
  const double row_vectors =
      static_cast<double>(shape.depth + 2 * shape.value_depth) / machine.vector_width;
  top.fixed = machine.seconds_per_ticket + sizes.block_rows * row_vectors *
                                               machine.fitted.rescale_operations *
                                               machine.seconds_per_vector_operation;
  const double l1_cost = layer_cost(l1, tile, true);
  const double l2_cost = sizes.key_blocks * (l2.load + l1_cost);
  const double seconds =
      layer_cost(top, l2_cost, false) + merge_seconds(machine, shape, strategy, threads);
  if (breakdown != nullptr)
    *breakdown = {tile,
                  {l1, l2, top},
                  {l1_cost, l2_cost, seconds},
                  static_cast<std::int64_t>(tickets),
                  seconds};
  return seconds;
}

std::string to_string(const AttentionStrategy& strategy) {
  return fmt::format("{}, tile {} x {}, {} rows a ticket, blocks of {} keys, {} split{}",
                     strategy.form == ScoreForm::Panels ? "panels" : "dots", strategy.tile_rows,
                     strategy.tile_columns, strategy.block_rows, strategy.block_keys,
                     strategy.splits, strategy.splits == 1 ? "" : "s");
}

}  // namespace dyn::choice
