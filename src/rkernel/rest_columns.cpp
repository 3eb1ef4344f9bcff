#include "src/rkernel/rest_columns.hpp"

#include <algorithm>
#include <cmath>

#include "src/rkernel/rounding.hpp"

namespace dyn::rkernel {
namespace {

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

double dot_seconds_per_k(const Machine& machine, double rows, double columns) {
  return std::max(rows * columns, rows + columns) / machine.vector_width * machine.seconds_per_vector_operation;
}

RestCost rest_cost(const Machine& machine, std::int64_t columns, double rows) {
  RestCost cost;
  for (const RestGroup& group : rest_groups(machine, columns)) {
    if (group.columns == 0) continue;
    const double calls = std::ceil(rows / static_cast<double>(group.rows));
    cost.seconds_per_k += calls * dot_seconds_per_k(machine, rows / calls, static_cast<double>(group.columns));
    cost.seconds += calls * machine.seconds_per_call;
  }
  cost.seconds += rows * static_cast<double>(columns) * dot_reduction_operations * machine.seconds_per_vector_operation;
  return cost;
}

double rest_move_seconds(const Machine& machine, const ContractionShape& shape, std::int64_t columns) {
  if (columns == 0) return 0;
  // A square is loaded, shuffled in as many rounds as its width has bits, and stored; other strides are copied element by element.
  const double operations = shape.must_pack_b ? 2 * static_cast<double>(columns) : 2 + std::log2(machine.vector_width);
  return operations * machine.seconds_per_vector_operation;
}

}  // namespace dyn::rkernel
