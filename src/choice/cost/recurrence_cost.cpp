#include "src/choice/cost/recurrence_cost.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t most_state_bytes = std::int64_t{256} << 10, least_rows = 64;

/// Of one vector of sums, one step of K.
double seconds_per_product(const Machine& machine, std::int64_t rows,
                           const rkernel::Factors& factors) {
  const auto tall =
      static_cast<int>(std::min<std::int64_t>(rows, std::max(1, machine.most_rows(machine.panel))));
  const TileSpeed* tile = machine.find_tile(tall, machine.panel, factors);
  if (tile == nullptr) return machine.seconds_per_vector_operation;
  return tile->seconds_per_k * machine.vector_width / (tile->rows * tile->columns);
}

std::int64_t fewest_blocks(const RecurrenceShape& shape) {
  const std::int64_t rows = std::max(
      least_rows, most_state_bytes / float_bytes / std::max<std::int64_t>(1, shape.hidden));
  return std::max<std::int64_t>(1, ceil_div(shape.batch, rows));
}

/// Vector instructions for a vector of states: its numbers, and its elements.
constexpr double operations_of_quantising = 20;

/// From the end of one part's work until all know that all have ended: a line goes to another core
/// and back, measured on Zen 5.
constexpr double seconds_per_meeting = 0.25e-6;

}  // namespace

double recurrence_cost(const Machine& machine, const RecurrenceShape& shape,
                       const RecurrenceStrategy& strategy, int threads, CostBreakdown* breakdown) {
  const std::int64_t rows = ceil_div(shape.batch, strategy.row_blocks),
                     columns = ceil_div(shape.hidden, machine.panel),
                     own_columns = ceil_div(columns, strategy.parts) * machine.panel;
  const std::int64_t tickets = shape.directions * strategy.row_blocks * strategy.parts;
  const auto active = static_cast<int>(std::clamp<std::int64_t>(tickets, 1, threads));
  const auto vectors =
      static_cast<double>(ceil_div(std::min(own_columns, shape.hidden), machine.vector_width));
  const auto hidden = static_cast<double>(shape.hidden);
  const double states = static_cast<double>(rows) * vectors;
  const int elements = rkernel::elements_of(shape.factors.group);
  const double products = states * shape.gates * (hidden / elements) *
                          seconds_per_product(machine, rows, shape.factors);
  const double quantising = shape.factors.grouped() ? states * operations_of_quantising : 0;
  const double cells =
      (states * shape.cell_operations + quantising) * machine.seconds_per_vector_operation;
  const double meetings = strategy.parts > 1 ? shape.products * seconds_per_meeting : 0;
  const std::int64_t weights = own_columns * shape.hidden * shape.gates *
                               static_cast<std::int64_t>(size_of(shape.factors.step_dtype())) /
                               elements;
  LayerTerms steps{.name = "steps"};
  steps.reduction_trips = static_cast<double>(shape.steps);
  const std::size_t level = machine.level_of(2 * weights);
  if (level > 0)
    steps.load = static_cast<double>(weights) / machine.bandwidth_per_thread(level, active);
  const double step_cost = layer_cost(steps, products + cells + meetings, true);
  LayerTerms top{.name = "threads"};
  top.parallel_trips = static_cast<double>(tickets);
  top.units = threads;
  top.fixed = machine.seconds_per_ticket + 2 * states * machine.seconds_per_vector_operation;
  const double seconds = layer_cost(top, step_cost, false);
  if (breakdown != nullptr)
    *breakdown = {products, {steps, top}, {step_cost, seconds}, tickets, seconds};
  return seconds;
}

RecurrenceChoice select_recurrence(const Machine& machine, const RecurrenceShape& shape,
                                   int threads) {
  RecurrenceChoice best;
  const std::int64_t fewest = fewest_blocks(shape),
                     most = std::max(fewest, std::min<std::int64_t>(threads, shape.batch));
  best.strategy.row_blocks = fewest;
  best.seconds = recurrence_cost(machine, shape, best.strategy, 1);
  if (threads == 1 || best.seconds <= machine.seconds_per_wakeup) return best;
  const auto consider = [&](const RecurrenceStrategy& strategy) {
    const double seconds =
        recurrence_cost(machine, shape, strategy, threads) + machine.seconds_per_wakeup;
    if (seconds < best.seconds * (1 - machine.fitted.tie)) best = {strategy, threads, seconds};
  };
  for (std::int64_t blocks = fewest; blocks <= most; ++blocks) {
    consider({blocks, 1});
    const std::int64_t parts =
        std::min(threads / std::max<std::int64_t>(1, shape.directions * blocks),
                 ceil_div(shape.hidden, machine.panel));
    if (shape.may_share && parts > 1) consider({blocks, parts});
  }
  return best;
}

}  // namespace dyn::choice
