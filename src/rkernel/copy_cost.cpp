#include "src/rkernel/copy_cost.hpp"

#include <algorithm>

namespace dyn::rkernel {
namespace {

constexpr double float_bytes = 4;
// Of each run of a window, beside its bytes: 3 x 3 windows of 64 channels, and 7 x 7 of 3. Where a block has all of K, most windows are copied without tests of their runs.
constexpr double seconds_per_window_run = 4e-9, seconds_per_run_of_whole = 1e-9;

// A copy's block is read again: two of them, or one and a panel of B, have to fit.
double write_seconds(const Machine& machine, double bytes, int active, bool any_level) {
  double fastest = machine.bandwidth_per_thread(std::max<std::size_t>(1, machine.level_of(static_cast<std::int64_t>(2 * bytes))), active);
  for (std::size_t level = 1; any_level && level < machine.levels.size(); ++level) fastest = std::max(fastest, machine.bandwidth_per_thread(level, active));
  return bytes / fastest;
}

}  // namespace

double block_move_seconds(const Machine& machine, double elements, DType dtype, std::size_t level, bool packs, int active) {
  const double bytes = elements * (static_cast<double>(size_of(dtype)) + float_bytes);
  return bytes / machine.bandwidth_per_thread(std::max<std::size_t>(1, level), active) + (packs ? elements * machine.seconds_per_vector_operation : 0);
}

double window_copy_seconds(const Machine& machine, const ContractionShape& shape, const BlockSizes& sizes, int active, bool any_depth) {
  const double bytes = sizes.block_m * sizes.block_k * float_bytes;
  const double runs = sizes.block_m * shape.a_runs * sizes.block_k / static_cast<double>(std::max<std::int64_t>(shape.k, 1));
  const double first_time = bytes * static_cast<double>(shape.a_distinct) / machine.bandwidth_per_thread(std::max<std::size_t>(1, shape.a_level), active);
  return first_time + write_seconds(machine, bytes, active, any_depth) + runs * (any_depth || sizes.k_blocks * sizes.slices == 1 ? seconds_per_run_of_whole : seconds_per_window_run);
}

}  // namespace dyn::rkernel
