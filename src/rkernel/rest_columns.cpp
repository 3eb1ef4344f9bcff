#include "src/rkernel/rest_columns.hpp"

#include <algorithm>
#include <cmath>

#include "src/rkernel/rounding.hpp"

namespace dyn::rkernel {
namespace {

// Sums that hide the latency of a multiply-add, where two begin in a cycle.
constexpr double sums_in_flight = 8;
// Of a call of a main loop, for one whose stores are counted among the reductions: with the whole call and slower reductions 512 x 68 x 64 and 512 x 72 x 192 did without
// dots, and took 6 % longer.
constexpr double share_of_call = 0.4;

// As the tallest tile of a panel reaches it.
double seconds_per_multiply_add(const Machine& machine) {
  const int rows = machine.most_rows(machine.panel);
  const TileSpeed* tile = machine.find_tile(rows, machine.panel);
  return tile != nullptr ? tile->seconds_per_k / rows * machine.vector_width / machine.panel : machine.seconds_per_vector_operation;
}

std::int64_t most_dot_columns(const Machine& machine) { return static_cast<std::int64_t>(machine.dot_rows.size()) - 1; }

}  // namespace

std::int64_t rest_columns(const Machine& machine, const ContractionShape& shape) {
  if (!shape.may_dot_rest || shape.lanes != LaneAxis::N || shape.n <= machine.vector_width) return 0;
  const std::int64_t rest = shape.n % machine.vector_width;
  return rest <= 2 * most_dot_columns(machine) ? rest : 0;
}

std::array<RestGroup, 2> rest_groups(const Machine& machine, std::int64_t columns) {
  const auto group = [&](std::int64_t of) { return RestGroup{of, of > 0 ? machine.dot_rows.at(static_cast<std::size_t>(of)) : 0}; };
  if (columns <= most_dot_columns(machine)) return {group(columns), RestGroup{}};
  return {group(ceil_div(columns, 2)), group(columns / 2)};
}

RestCost rest_cost(const Machine& machine, std::int64_t columns, double rows) {
  RestCost cost;
  if (columns == 0) return cost;
  const double operation = seconds_per_multiply_add(machine);
  for (const RestGroup& group : rest_groups(machine, columns)) {
    if (group.columns == 0) continue;
    const auto wide = static_cast<double>(group.columns);
    const double calls = std::max(1.0, std::ceil(rows / static_cast<double>(group.rows))), tall = rows / calls;
    cost.seconds_per_k += calls * std::max({tall * wide, tall + wide, sums_in_flight}) / machine.vector_width * operation;
    cost.seconds += calls * machine.seconds_per_call * share_of_call;
  }
  cost.seconds += rows * static_cast<double>(columns) * dot_reduction_operations * operation;
  return cost;
}

double rest_move_seconds(const Machine& machine, const ContractionShape& shape, std::int64_t columns) {
  if (columns == 0) return 0;
  // A square is loaded, shuffled in as many rounds as its width has bits, and stored; other strides are copied element by element.
  const double operations = shape.must_pack_b ? 2 * static_cast<double>(columns) : 2 + std::log2(machine.vector_width);
  return operations * machine.seconds_per_vector_operation;
}

}  // namespace dyn::rkernel
