#include "src/choice/cost/copy_cost.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/bytes.hpp"

namespace dyn::choice {
namespace {

// Whether a block has all of K.
bool is_whole(const BlockSizes& sizes) { return sizes.k_blocks * sizes.slices == 1; }

// A copy's block is read again: two of them, or one and a panel of B, have to fit.
double write_seconds(const Machine& machine, double bytes, int active, bool any_level) {
  double fastest = machine.bandwidth_per_thread(
      std::max<std::size_t>(1, machine.level_of(static_cast<std::int64_t>(2 * bytes))), active);
  for (std::size_t level = 1; any_level && level < machine.levels.size(); ++level)
    fastest = std::max(fastest, machine.bandwidth_per_thread(level, active));
  return bytes / fastest;
}

// So many of a block's windows, run by run.
double windows_seconds(const Machine& machine, const ContractionShape& shape,
                       const BlockSizes& sizes, double rows, int active, bool any_depth) {
  const double bytes = rows * sizes.block_k * float_bytes;
  const double runs =
      rows * shape.a_runs * sizes.block_k / static_cast<double>(std::max<std::int64_t>(shape.k, 1));
  const double first_time =
      bytes * static_cast<double>(shape.a_distinct) /
      machine.bandwidth_per_thread(std::max<std::size_t>(1, shape.a_level), active);
  return first_time + write_seconds(machine, bytes, active, any_depth) +
         runs * (any_depth || is_whole(sizes) ? machine.fitted.seconds_per_run_of_whole
                                              : machine.fitted.seconds_per_window_run) +
         computing_seconds(machine, rows * sizes.block_k, shape.a_operations);
}

// Bytes of the tensor's rows in which so many windows lie. Where the windows do not fill a row,
// only the columns that they touch count.
double strip_bytes(const WindowStrips& strips, double count) {
  const auto windows = static_cast<double>(strips.windows);
  const double rows =
      count / windows * static_cast<double>(strips.step) + static_cast<double>(strips.taps);
  const double share = std::min(1.0, (count + static_cast<double>(strips.taps)) / windows);
  return rows * static_cast<double>(strips.row_elements) * share * float_bytes;
}

// They are brought into scratch, and each window is found there.
double strip_seconds(const Machine& machine, const ContractionShape& shape, double count,
                     int active) {
  const double bytes = strip_bytes(shape.a_strips, count);
  return bytes / machine.bandwidth_per_thread(std::max<std::size_t>(1, shape.a_level), active) +
         write_seconds(machine, bytes, active, false) +
         count * machine.fitted.seconds_per_strip_window +
         computing_seconds(machine, bytes / float_bytes, shape.a_operations);
}

}  // namespace

double block_move_seconds(const Machine& machine, double elements, DType dtype, std::size_t level,
                          bool packs, int active) {
  const double bytes = elements * (static_cast<double>(size_of(dtype)) + float_bytes);
  return bytes / machine.bandwidth_per_thread(std::max<std::size_t>(1, level), active) +
         (packs ? elements * machine.seconds_per_vector_operation : 0);
}

double computing_seconds(const Machine& machine, double elements, float operations) {
  return elements * static_cast<double>(operations) / machine.vector_width *
         machine.seconds_per_vector_operation;
}

bool reads_strip(const Machine& machine, const ContractionShape& shape,
                 const rkernel::Strategy& strategy, std::int64_t rows) {
  if (shape.a_strips.row_elements == 0 || strategy.lanes != rkernel::LaneAxis::N ||
      strategy.tile_columns != machine.panel)
    return false;
  if (rkernel::tiling_of(rows, strategy.tile_rows).first.tile != shape.inlined_rows) return false;
  return machine.level_of(static_cast<std::int64_t>(
             2 * strip_bytes(shape.a_strips, static_cast<double>(rows)))) <= 1;
}

double window_copy_seconds(const Machine& machine, const ContractionShape& shape,
                           const rkernel::Strategy& strategy, const BlockSizes& sizes, int active,
                           bool any_depth) {
  const double windows = windows_seconds(machine, shape, sizes, sizes.block_m, active, any_depth);
  const auto rows = static_cast<std::int64_t>(std::ceil(sizes.block_m));
  if (!(any_depth || is_whole(sizes)) || !reads_strip(machine, shape, strategy, rows))
    return windows;
  const double left = std::max(
      0.0, sizes.block_m - static_cast<double>(sizes.rows.first.tile * sizes.rows.first.count));
  const double in_strip = strip_seconds(machine, shape, sizes.block_m, active) +
                          windows_seconds(machine, shape, sizes, left, active, any_depth);
  return any_depth ? std::min(windows, in_strip) : in_strip;
}

}  // namespace dyn::choice
