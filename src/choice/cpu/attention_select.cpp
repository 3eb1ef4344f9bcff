// Candidates for an attention of known sizes, and the choice among them.

#include <algorithm>
#include <array>
#include <vector>

#include "src/base/rounding.hpp"
#include "src/choice/cost/attention_cost.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t key_block = 512;
constexpr std::array<std::int64_t, 3> row_blocks = {256, 128, 64};
// Where blocks of so many rows are too few for the threads, keys are split until there are so many
// tickets for each.
constexpr std::int64_t rows_of_ticket = 64, tickets_per_thread = 2;
// Threads that are assumed where their number may not matter.
constexpr int assumed_threads = 4;

std::vector<std::int64_t> row_block_sizes(std::int64_t queries, int threads) {
  std::vector<std::int64_t> sizes{std::max<std::int64_t>(queries, 1)};
  const auto add = [&](std::int64_t size) {
    if (size > 0 && size < queries && std::find(sizes.begin(), sizes.end(), size) == sizes.end())
      sizes.push_back(size);
  };
  if (threads > 1) {
    add(ceil_div(queries, threads));
    add(ceil_div(queries, 2 * threads));
  }
  for (const std::int64_t size : row_blocks) add(size);
  return sizes;
}

/// The widest tile that takes all rows of a block, and that the values fill; narrower ones are
/// taller.
AttentionStrategy with_tile(const Machine& machine, const AttentionShape& shape,
                            AttentionStrategy strategy) {
  const rkernel::Factors factors = factors_of(shape, strategy.form);
  const auto rows_of = [&](int columns) { return machine.fastest_rows(columns, factors); };
  strategy.tile_columns = machine.panel;
  strategy.tile_rows = std::max(1, rows_of(machine.panel));
  for (int columns = 2 * machine.panel; rows_of(columns) > 0; columns *= 2) {
    if (strategy.block_rows > rows_of(columns) || columns > shape.value_depth) break;
    strategy.tile_columns = columns;
    strategy.tile_rows = rows_of(columns);
  }
  return strategy;
}

/// By instructions: panels take whole panels of scores and the transposition of keys, dots a
/// reduction for each score.
ScoreForm form_of(const Machine& machine, const AttentionShape& shape) {
  if (!shape.keys_unit || shape.queries > machine.fitted.most_dot_rows) return ScoreForm::Panels;
  const auto rows = static_cast<double>(shape.queries), keys = static_cast<double>(shape.keys);
  const auto padded = static_cast<double>(ceil_div(shape.keys, machine.panel) * machine.panel);
  const double key_vectors = static_cast<double>(shape.depth) / machine.vector_width;
  const double dots = rows * keys * (key_vectors + machine.fitted.dot_operations);
  const double panels =
      rows * padded * key_vectors + keys * key_vectors * machine.fitted.transpose_operations;
  return dots < panels ? ScoreForm::Dots : ScoreForm::Panels;
}

std::int64_t splits_of(const AttentionShape& shape, int threads) {
  if (shape.fixed_order) threads = assumed_threads;
  const std::int64_t row_tickets =
      std::max<std::int64_t>(1, ceil_div(shape.queries, rows_of_ticket));
  const std::int64_t missing = threads > 1 ? tickets_per_thread * threads / row_tickets : 1;
  return std::max<std::int64_t>(1, std::min(missing, shape.keys / key_block));
}

/// The cheapest of all choices that are considered; each is shown to `visit`.
template <class Visit>
AttentionChoice visit_choices(const Machine& machine, const AttentionShape& shape, int threads,
                              const Visit& visit) {
  AttentionChoice best;
  const AttentionStrategy order = attention_order(machine, shape, threads);
  const auto consider = [&](int active, double overhead) {
    for_each_attention_strategy(
        machine, shape, order, active, [&](const AttentionStrategy& strategy) {
          const double seconds = attention_cost(machine, shape, strategy, active) + overhead;
          visit(AttentionChoice{strategy, active, seconds, 1});
          if (best.considered++ == 0 || seconds < best.seconds * (1 - machine.fitted.tie)) {
            best.seconds = seconds;
            best.threads = active;
            best.strategy = strategy;
          }
        });
  };
  consider(1, 0);
  if (threads > 1 && best.seconds > machine.seconds_per_wakeup)
    consider(threads, machine.seconds_per_wakeup);
  return best;
}

}  // namespace

AttentionStrategy attention_order(const Machine& machine, const AttentionShape& shape,
                                  int threads) {
  return {.form = form_of(machine, shape),
          .block_keys = key_block,
          .splits = splits_of(shape, threads)};
}

void for_each_attention_strategy(const Machine& machine, const AttentionShape& shape,
                                 const AttentionStrategy& order, int threads,
                                 const std::function<void(const AttentionStrategy&)>& visit) {
  AttentionStrategy strategy = order;
  for (const std::int64_t block_rows : row_block_sizes(shape.queries, threads)) {
    strategy.block_rows = block_rows;
    visit(with_tile(machine, shape, strategy));
    // The sums of dots are the same in tiles of the same rows only.
    if (order.form == ScoreForm::Dots) break;
  }
}

void for_each_attention_choice(const Machine& machine, const AttentionShape& shape, int threads,
                               const std::function<void(const AttentionChoice&)>& visit) {
  visit_choices(machine, shape, threads, visit);
}

AttentionChoice select_attention(const Machine& machine, const AttentionShape& shape, int threads) {
  return visit_choices(machine, shape, threads, [](const AttentionChoice&) {});
}

}  // namespace dyn::choice
