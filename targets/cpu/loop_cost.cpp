#include "targets/cpu/loop_cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "targets/cpu/loop_passes.hpp"

namespace dyn::cpu {

namespace {

// A common core; loop kernels are short and mostly limited by memory, so that these need no measurement.
constexpr double bytes_per_second = 32e9;
constexpr double vector_instructions_per_second = 6e9;
constexpr double seconds_per_row = 20e-9;
constexpr double seconds_per_launch = 100e-9;
/// A second thread must save at least this much.
constexpr double seconds_per_thread = 10e-6;
constexpr std::int64_t least_chunk = 4096, most_chunk = 16384, chunk_multiple = 64;
constexpr std::int64_t tickets_per_thread = 8;
constexpr double elements_per_grain = 8192;

double operand_bytes(const LoopProblem& loop, int operand, codegen::StrideClass lane_class, std::span<const std::int64_t> ints) {
  const codegen::AxisSet axes = codegen::operand_axes(loop.problem, loop.slots, operand, lane_class);
  double elements = 1;
  for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis)
    if ((axes & codegen::axis_bit(axis)) != 0)
      elements *= static_cast<double>(ints[static_cast<std::size_t>(loop.slots.extent(axis))]);
  return elements * static_cast<double>(size_of(loop.problem.operands[static_cast<std::size_t>(operand)].dtype));
}

double instructions(const LoopProblem& loop, const LoopClass& loop_class) {
  const auto varies = codegen::expr_axes(loop.problem, loop.slots, loop_class.lane_classes);
  double sum = static_cast<double>(loop.problem.stores.size());
  for (std::size_t expr = 0; expr < varies.size(); ++expr) {
    const rkernel::Expr& definition = loop.problem.exprs[expr];
    if ((varies[expr] & codegen::axis_bit(loop.problem.lane_axis)) == 0 && !is_reduction(definition.op)) continue;
    const auto lane_class = definition.operand < 0
                                ? codegen::StrideClass::Unit
                                : loop_class.lane_classes[static_cast<std::size_t>(definition.operand)];
    sum += instructions_of(loop.problem, definition, lane_class);
  }
  return sum;
}

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void divide(const LoopProblem& loop, LoopCost& cost, int threads) {
  cost.threads = std::clamp(static_cast<int>(cost.one_thread_seconds / seconds_per_thread), 1, std::max(threads, 1));
  if (!loop.lanes_reduced()) {
    const auto share = static_cast<std::int64_t>(cost.elements / static_cast<double>(cost.threads * tickets_per_thread));
    const std::int64_t points = std::clamp(share, least_chunk, most_chunk) / std::max<std::int64_t>(cost.reduced, 1);
    cost.chunk = rounded_up(std::max(points, chunk_multiple), chunk_multiple);
    cost.chunks = (cost.lanes + cost.chunk - 1) / cost.chunk;
  }
  cost.tickets = cost.rows * cost.chunks;
  cost.threads = static_cast<int>(std::min<std::int64_t>(cost.threads, std::max<std::int64_t>(cost.tickets, 1)));
  const double per_ticket = cost.elements / static_cast<double>(std::max<std::int64_t>(cost.tickets, 1));
  const auto fair = (cost.tickets + cost.threads - 1) / cost.threads;
  cost.grain = static_cast<std::int64_t>(elements_per_grain / std::max(per_ticket, 1.0));
  cost.grain = std::max<std::int64_t>(cost.threads == 1 ? cost.tickets : std::min(cost.grain, fair), 1);
  cost.seconds = cost.one_thread_seconds / cost.threads;
}

}  // namespace

LoopCost loop_cost(const LoopProblem& loop, const LoopClass& loop_class, std::span<const std::int64_t> ints, int threads) {
  LoopCost cost;
  cost.elements = 1;
  for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis) {
    const std::int64_t extent = ints[static_cast<std::size_t>(loop.slots.extent(axis))];
    cost.elements *= static_cast<double>(extent);
    if (axis == loop.problem.lane_axis) cost.lanes = extent;
    if (loop.problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction) cost.reduced *= extent;
    else if (axis != loop.problem.lane_axis) cost.rows *= extent;
  }
  for (int operand = 0; operand < static_cast<int>(loop.problem.operands.size()); ++operand)
    cost.bytes += operand_bytes(loop, operand, loop_class.lane_classes[static_cast<std::size_t>(operand)], ints);
  cost.instructions = instructions(loop, loop_class);
  cost.memory_seconds = cost.bytes / bytes_per_second;
  cost.compute_seconds =
      cost.elements * cost.instructions / static_cast<double>(loop.isa.f32_lanes) / vector_instructions_per_second;
  cost.row_seconds = static_cast<double>(cost.rows) * seconds_per_row;
  cost.one_thread_seconds = std::max(cost.memory_seconds, cost.compute_seconds) + cost.row_seconds + seconds_per_launch;
  divide(loop, cost, threads);
  return cost;
}

std::string to_string(const LoopCost& cost) {
  return fmt::format(
      "rows {}, lanes {}, reduced {}\n"
      "memory {:.2f} us ({:.0f} bytes), compute {:.2f} us ({:.0f} instructions a vector), rows {:.2f} us\n"
      "one thread {:.2f} us; chosen: {} threads, {} tickets, grain {}, chunk {}: {:.2f} us\n",
      cost.rows, cost.lanes, cost.reduced, cost.memory_seconds * 1e6, cost.bytes, cost.compute_seconds * 1e6,
      cost.instructions, cost.row_seconds * 1e6, cost.one_thread_seconds * 1e6, cost.threads, cost.tickets, cost.grain,
      cost.chunk, cost.seconds * 1e6);
}

}  // namespace dyn::cpu
