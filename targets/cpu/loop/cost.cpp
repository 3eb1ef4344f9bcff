#include "targets/cpu/loop/cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/bytes.hpp"
#include "targets/llvm/problem/instruction_counts.hpp"

namespace dyn::cpu {

namespace {

constexpr std::int64_t chunk_multiple = 64;  ///< elements: whole lines, whatever the dtype

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::int64_t chunks_of(std::int64_t extent, std::int64_t chunk) {
  return (extent + chunk - 1) / chunk;
}

// Elements of the lane axis in one ticket, where lanes run along a parallel axis.
std::int64_t chunk_for(const LoopProblem& loop, const LoopCost& cost, int passes,
                       const choice::Machine& machine, int threads) {
  const auto share = static_cast<std::int64_t>(
      cost.elements / static_cast<double>(threads * machine.fitted.loop_tickets_per_thread));
  if (loop.transposed_axis >= 0) return machine.fitted.loop_block_lanes;
  if (!loop.reduces())
    return std::clamp(share, machine.fitted.loop_least_chunk, machine.fitted.loop_most_chunk);
  // Rows outside, lanes inside: long runs of lanes, unless later passes should find the rows in
  // cache.
  std::int64_t most = machine.fitted.loop_most_accumulators;
  const std::int64_t fair =
      threads == 1 || cost.slices.count > 1 ? cost.lanes : cost.lanes * cost.rows / (threads * 2);
  if (passes > 1)
    most =
        std::min(most, machine.levels[1].bytes / 2 / std::max<std::int64_t>(cost.reduced * 4, 1));
  return std::clamp(fair, chunk_multiple, std::max(most, chunk_multiple));
}

// Chunks, tickets and grain for this many threads.
void divide(const LoopProblem& loop, LoopCost& cost, int passes, const choice::Machine& machine,
            int threads) {
  cost.threads = threads;
  if (!loop.lanes_reduced()) {
    cost.chunk = rounded_up(chunk_for(loop, cost, passes, machine, threads), chunk_multiple);
    cost.chunks = chunks_of(cost.lanes, cost.chunk);
  }
  const std::int64_t row_bytes =
      4 * (loop.lanes_reduced() ? cost.lanes : std::min(cost.chunk, cost.lanes));
  cost.grouped = row_bytes <= machine.fitted.loop_most_grouped_row || cost.chunks > 1;
  const std::int64_t at_once =
      loop.reduces() && !loop.lanes_reduced() ? LoopProblem::rows_at_once : 1;
  cost.ahead =
      std::clamp(chunks_of(machine.fitted.loop_bytes_ahead, std::max<std::int64_t>(row_bytes, 1)),
                 at_once, machine.fitted.loop_most_rows_ahead);
  if (loop.lanes_reduced() && 4 * row_bytes > machine.levels[0].bytes)
    std::swap(cost.ahead, cost.far_ahead);
  if (loop.steps_axis() >= 0) {
    cost.steps_chunk = machine.fitted.loop_block_steps;
    cost.steps_chunks = chunks_of(cost.steps, cost.steps_chunk);
  }
  cost.tickets = cost.rows * cost.chunks * cost.steps_chunks * cost.slices.count;
  cost.threads =
      static_cast<int>(std::min<std::int64_t>(threads, std::max<std::int64_t>(cost.tickets, 1)));
  const double per_ticket =
      cost.elements / static_cast<double>(std::max<std::int64_t>(cost.tickets, 1));
  const auto fair = (cost.tickets + cost.threads - 1) / cost.threads;
  // Long runs for each thread: hardware, and the code too, read ahead of what they need.
  const double elements = std::clamp(
      cost.elements / static_cast<double>(cost.threads * machine.fitted.loop_grains_per_thread),
      machine.fitted.loop_least_grain, machine.fitted.loop_most_grain);
  cost.grain = static_cast<std::int64_t>(elements / std::max(per_ticket, 1.0));
  cost.grain =
      std::max<std::int64_t>(cost.threads == 1 ? cost.tickets : std::min(cost.grain, fair), 1);
  // Tickets that fill the same lines go to one thread.
  if (loop.axis_between >= 0 && cost.threads > 1)
    cost.grain = std::max<std::int64_t>(rounded_up(cost.grain, cost.between), 1);
}

// The second stage: partial results are written, then read by all threads.
void predict_merge(const LoopProblem& loop, LoopCost& cost, int reductions,
                   const choice::Machine& machine) {
  if (cost.slices.count == 1) return;
  const bool lanes = !loop.lanes_reduced();
  if (lanes) {
    cost.partials_row = rounded_up(cost.lanes, chunk_multiple);
    cost.merge_chunk =
        std::min(rounded_up(chunks_of(cost.lanes, 2 * cost.threads), chunk_multiple), cost.chunk);
    cost.merge_chunks = chunks_of(cost.lanes, cost.merge_chunk);
  }
  const std::int64_t tickets = cost.rows * cost.merge_chunks;
  const double merged =
      static_cast<double>(cost.slices.count * cost.rows * cost.partials_row * reductions);
  const bool alone = cost.threads == 1 || merged < machine.fitted.loop_least_merged;
  cost.merge_grain = alone ? tickets : 1;
  const int active = alone ? 1 : cost.threads;
  const double bytes = merged * loop.scratch_element_bytes;
  const std::size_t level =
      std::max<std::size_t>(1, machine.level_of(static_cast<std::int64_t>(bytes)));
  const double operations =
      merged / (lanes ? loop.isa.f32_lanes : 1) * machine.seconds_per_vector_operation;
  cost.merge_seconds = (alone ? 0 : machine.seconds_per_wakeup) + machine.seconds_per_ticket +
                       operations / active +
                       2 * bytes / active / machine.bandwidth_per_thread(level, active);
  cost.seconds += cost.merge_seconds;
}

// Vectors of points stream through the registers while the next ones are loaded; tickets are taken
// `grain` at a time.
void predict(const LoopProblem& loop, LoopCost& cost, const choice::Machine& machine) {
  const double vectors = std::max(1.0, cost.elements / loop.isa.f32_lanes);
  const double tickets = static_cast<double>(std::max<std::int64_t>(cost.tickets, 1));
  const std::size_t level =
      std::max<std::size_t>(1, machine.level_of(static_cast<std::int64_t>(cost.bytes)));
  cost.vector_seconds = cost.instructions * machine.seconds_per_vector_operation;
  cost.lane_terms = {.name = "lanes"};
  cost.lane_terms.spatial_trips = vectors / tickets;
  cost.lane_terms.load = cost.bytes / vectors / machine.bandwidth_per_thread(level, cost.threads);
  cost.lane_terms.fixed = machine.seconds_per_call;
  cost.lane_seconds = choice::layer_cost(cost.lane_terms, cost.vector_seconds, true);
  const double grain = static_cast<double>(cost.grain);
  cost.thread_terms = {.name = "threads"};
  cost.thread_terms.parallel_trips = tickets / grain;
  cost.thread_terms.units = cost.threads;
  cost.thread_terms.fixed = machine.seconds_per_ticket;
  cost.seconds = choice::layer_cost(cost.thread_terms, grain * cost.lane_seconds, false) +
                 (cost.threads > 1 ? machine.seconds_per_wakeup : 0);
}

}  // namespace

LoopCost loop_cost(const LoopProblem& loop, const LoopClass& loop_class,
                   std::span<const std::int64_t> ints, const choice::Machine& machine,
                   int threads) {
  LoopCost cost;
  cost.elements = 1;
  for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis) {
    const std::int64_t extent = ints[static_cast<std::size_t>(loop.slots.extent(axis))];
    cost.elements *= static_cast<double>(extent);
    if (axis == loop.problem.lane_axis) cost.lanes = extent;
    if (axis == loop.axis_between) cost.between = std::max<std::int64_t>(extent, 1);
    if (loop.problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction)
      cost.reduced *= extent;
    else if (axis == loop.steps_axis())
      cost.steps = extent;
    else if (axis != loop.problem.lane_axis)
      cost.rows *= extent;
  }
  cost.bytes = codegen::bytes_of(loop.problem, loop.slots, loop_class.lane_classes, ints);
  cost.instructions = codegen::instructions_of(loop.problem, loop.slots, loop_class.lane_classes);
  cost.written = codegen::bytes_of(loop.problem, loop.slots, loop_class.lane_classes, ints, true);
  // What is stored exceeds the last cache: it would only push out what is there, and be read before
  // it is written.
  const auto last_cache = static_cast<double>(machine.levels[machine.levels.size() - 2].bytes);
  const std::int64_t row_bytes = cost.lanes * 4;
  cost.streams =
      cost.written > last_cache * 3 / 4 &&
      (row_bytes >= machine.fitted.loop_least_streamed_row || row_bytes % line_bytes == 0);
  if (loop.sliced) cost.slices = slices_of(loop, ints);
  LoopCost best = cost;
  divide(loop, best, loop_class.passes, machine, 1);
  predict(loop, best, machine);
  predict_merge(loop, best, loop_class.reductions, machine);
  if (threads > 1) {
    divide(loop, cost, loop_class.passes, machine, threads);
    predict(loop, cost, machine);
    predict_merge(loop, cost, loop_class.reductions, machine);
    if (cost.threads > 1 && cost.seconds < best.seconds) best = cost;
  }
  return best;
}

std::string to_string(const LoopCost& cost) {
  const choice::CostBreakdown breakdown{cost.vector_seconds,
                                        {cost.lane_terms, cost.thread_terms},
                                        {cost.lane_seconds, cost.seconds},
                                        cost.tickets,
                                        cost.seconds};
  return fmt::format(
             "  rows {}, lanes {}, reduced {}; {:.0f} bytes, {:.0f} instructions a vector\n",
             cost.rows, cost.lanes, cost.reduced, cost.bytes, cost.instructions) +
         fmt::format("  chosen {:.4g} us: {} thread{}, {} tickets, grain {}, chunk {}\n",
                     cost.seconds * 1e6, cost.threads, cost.threads == 1 ? "" : "s", cost.tickets,
                     cost.grain, cost.chunk) +
         (cost.slices.count == 1
              ? std::string()
              : fmt::format("  {} slices of the reduction, merged in {:.4g} us\n",
                            cost.slices.count, cost.merge_seconds * 1e6)) +
         choice::to_string(breakdown);
}

}  // namespace dyn::cpu
