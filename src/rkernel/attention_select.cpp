// Candidates for an attention of known sizes, and the choice among them.

#include <algorithm>
#include <array>
#include <vector>

#include "src/rkernel/attention_cost.hpp"

namespace dyn::rkernel {
namespace {

// Two predictions closer than this are a tie, which the earlier candidate wins.
constexpr double tie = 0.02;
constexpr std::array<std::int64_t, 3> key_blocks = {256, 512, 128};
constexpr std::array<std::int64_t, 3> row_blocks = {256, 128, 64};
// Beyond this many rows the packing of keys is repaid.
constexpr std::int64_t most_dot_rows = 8;
// Tickets for each thread, at most, that splitting the keys makes.
constexpr std::int64_t tickets_per_thread = 4;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<std::int64_t> row_block_sizes(std::int64_t queries, int threads) {
  std::vector<std::int64_t> sizes{std::max<std::int64_t>(queries, 1)};
  const auto add = [&](std::int64_t size) {
    if (size > 0 && size < queries && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  if (threads > 1) {
    add(ceil_div(queries, threads));
    add(ceil_div(queries, 2 * threads));
  }
  for (const std::int64_t size : row_blocks) add(size);
  return sizes;
}

/// The widest tile that takes all rows of a block, and that the values fill; narrower ones are taller.
AttentionStrategy with_tile(const Machine& machine, const AttentionShape& shape, AttentionStrategy strategy) {
  strategy.tile_columns = machine.panel;
  strategy.tile_rows = std::max(1, machine.most_rows(machine.panel));
  for (int columns = 2 * machine.panel; machine.most_rows(columns) > 0; columns *= 2) {
    if (strategy.block_rows > machine.most_rows(columns) || columns > shape.value_depth) break;
    strategy.tile_columns = columns;
    strategy.tile_rows = machine.most_rows(columns);
  }
  return strategy;
}

std::vector<std::int64_t> split_counts(const Machine& machine, const AttentionShape& shape, std::int64_t tickets, int threads) {
  if (shape.fixed_order) return {fixed_slices(shape.batch * shape.queries * shape.value_depth, shape.keys)};
  std::vector<std::int64_t> counts{1};
  for (std::int64_t splits = 2; threads > 1 && splits * tickets <= tickets_per_thread * threads && splits * machine.panel * 2 <= shape.keys; ++splits) {
    counts.push_back(splits);
  }
  return counts;
}

std::vector<ScoreForm> score_forms(const AttentionShape& shape, std::int64_t block_rows) {
  const bool dots = shape.keys_unit && block_rows <= most_dot_rows;
  if (shape.fixed_order) return {shape.keys_unit && shape.queries <= most_dot_rows ? ScoreForm::Dots : ScoreForm::Panels};
  return dots ? std::vector{ScoreForm::Panels, ScoreForm::Dots} : std::vector{ScoreForm::Panels};
}

}  // namespace

void for_each_attention_strategy(const Machine& machine, const AttentionShape& shape, int threads,
                                 const std::function<void(const AttentionStrategy&)>& visit) {
  for (const std::int64_t block_rows : row_block_sizes(shape.queries, threads)) {
    const std::int64_t tickets = std::max<std::int64_t>(1, shape.batch * ceil_div(shape.queries, block_rows));
    for (const std::int64_t block_keys : key_blocks) {
      for (const std::int64_t splits : split_counts(machine, shape, tickets, threads)) {
        for (const ScoreForm form : score_forms(shape, block_rows)) {
          visit(with_tile(machine, shape, {.form = form, .block_rows = block_rows, .block_keys = block_keys, .splits = splits}));
        }
      }
      if (block_keys >= shape.keys || shape.fixed_order) break;
    }
  }
}

AttentionChoice select_attention(const Machine& machine, const AttentionShape& shape, int threads) {
  AttentionChoice best;
  const auto consider = [&](int active, double overhead) {
    for_each_attention_strategy(machine, shape, active, [&](const AttentionStrategy& strategy) {
      const double seconds = attention_cost(machine, shape, strategy, active) + overhead;
      if (best.considered++ == 0 || seconds < best.seconds * (1 - tie)) {
        best.seconds = seconds;
        best.threads = active;
        best.strategy = strategy;
      }
    });
  };
  consider(1, 0);
  if (threads > 1 && best.seconds > machine.seconds_per_wakeup) consider(threads, machine.seconds_per_wakeup);
  return best;
}

}  // namespace dyn::rkernel
