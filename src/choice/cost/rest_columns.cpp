#include "src/choice/cost/rest_columns.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/rounding.hpp"
#include "src/choice/cost/block_sizes.hpp"

namespace dyn::choice {
namespace {

std::int64_t most_dot_columns(const Machine& machine) {
  return static_cast<std::int64_t>(machine.dot_rows.size()) - 1;
}

// The time of dots for `rows` rows: multiply-adds, loads of both sides or the latency of a few
// sums; calls, and adding up the lanes.
double dot_seconds(const Machine& machine, std::int64_t columns, double rows, double block_k) {
  const double operation = seconds_per_multiply_add(machine);
  double seconds =
      rows * static_cast<double>(columns) * machine.fitted.dot_reduction_operations * operation;
  for (const RestGroup& group : rest_groups(machine, columns)) {
    if (group.columns == 0) continue;
    const auto wide = static_cast<double>(group.columns);
    const double calls = std::ceil(rows / static_cast<double>(group.rows)), tall = rows / calls;
    const double operations =
        std::max({tall * wide, tall + wide, machine.fitted.dot_sums_in_flight}) /
        machine.vector_width * block_k;
    seconds += calls * (operations * operation +
                        machine.seconds_per_call * machine.fitted.dot_share_of_call);
  }
  return seconds;
}

}  // namespace

std::int64_t rest_columns(int vector_width, std::int64_t columns) {
  const std::int64_t rest = columns % vector_width;
  const bool pays = rest > 0 && columns > vector_width &&
                    static_cast<double>(vector_width - rest) >=
                        default_calibration().worthwhile_rest_share * static_cast<double>(columns);
  return pays ? rest : 0;
}

std::int64_t rest_columns(const Machine& machine, const ContractionShape& shape) {
  if (!shape.may_dot_rest || shape.lanes != rkernel::LaneAxis::N) return 0;
  const std::int64_t rest = rest_columns(machine.vector_width, shape.n);
  return rest <= 2 * most_dot_columns(machine) ? rest : 0;
}

std::int64_t packed_rest(int vector_width, std::int64_t panel, std::int64_t columns,
                         std::int64_t depth) {
  const Calibration& fitted = default_calibration();
  const std::int64_t rest = rest_columns(vector_width, columns);
  const double dots = static_cast<double>(rest) *
                      (static_cast<double>(depth) / vector_width + fitted.dot_reduction_operations);
  const bool beside_vector = columns % panel > vector_width;
  const double operations = beside_vector
                                ? dots * fitted.packed_dots_beside_vector + fitted.packed_dots_call
                                : dots * fitted.packed_dots_operations;
  return operations < static_cast<double>(depth) ? rest : 0;
}

std::array<RestGroup, 2> rest_groups(const Machine& machine, std::int64_t columns) {
  const auto group = [&](std::int64_t of) {
    return RestGroup{of, of > 0 ? machine.dot_rows.at(static_cast<std::size_t>(of)) : 0};
  };
  if (columns <= most_dot_columns(machine)) return {group(columns), RestGroup{}};
  return {group(ceil_div(columns, 2)), group(columns / 2)};
}

double rest_seconds(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Tiling& rows, double block_k) {
  const std::int64_t last = shape.n % machine.panel, columns = last % machine.vector_width;
  if (columns == 0 || rows.tiles() == 0) return 0;
  const double panel = seconds_per_k(machine, rows, machine.panel, shape.factors());
  const bool narrows = machine.most_rows(machine.vector_width) >= rows.first.tile;
  const double one_vector =
      narrows ? seconds_per_k(machine, rows, machine.vector_width, shape.factors()) : panel;
  // A panel with a vector and more keeps the vector.
  const double spared = last > machine.vector_width ? panel - one_vector : one_vector;
  const double height = static_cast<double>(rows.first.tile * rows.first.count +
                                            rows.second.tile * rows.second.count) /
                        static_cast<double>(rows.tiles());
  return dot_seconds(machine, columns, height, block_k) - spared * block_k;
}

double rest_move_seconds(const Machine& machine, const ContractionShape& shape) {
  const std::int64_t columns = shape.n % machine.vector_width;
  if (columns == 0) return 0;
  // A square is loaded, shuffled in as many rounds as its width has bits, and stored; other strides
  // are copied element by element.
  const double operations =
      shape.must_pack_b ? 2 * static_cast<double>(columns) : 2 + std::log2(machine.vector_width);
  return operations * machine.seconds_per_vector_operation;
}

}  // namespace dyn::choice
