#include "targets/cpu/loop/class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "targets/cpu/loop/slices.hpp"
#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {

using codegen::StrideClass;

namespace {

constexpr std::size_t most_loop_classes = 32;
/// Vectors of an element-wise body: enough independent work to hide latencies. Functions have
/// chains of their own, and constants that need registers.
constexpr int elementwise_vectors = 4, function_vectors = 2;
constexpr int most_vectors_of_row = 6;

int vectors_of_body(const rkernel::Problem& problem, int width) {
  // Windows over few channels, as many in all shapes: one body has all of them.
  const std::int64_t whole =
      problem.axes[static_cast<std::size_t>(problem.lane_axis)].extent.constant().value_or(0) /
      width;
  const auto reductions = std::ranges::count_if(
      problem.exprs, [](const rkernel::Expr& expr) { return is_reduction(expr.op); });
  if (reduces_window(problem) && whole > 0 && whole <= most_vectors_of_row &&
      whole * reductions <= window_accumulators)
    return static_cast<int>(whole);
  const bool functions = std::ranges::any_of(problem.exprs, [&](const rkernel::Expr& expr) {
    return expr.op != rkernel::ExprOp::Load &&
           codegen::instructions_of(problem, expr, StrideClass::Unit) >=
               graph::function_instructions;
  });
  return functions ? function_vectors : elementwise_vectors;
}

/// Two, Three or Four where the stride is known to be so much. Elements of fewer bytes are stored
/// apart where each has a bit in a mask.
std::optional<StrideClass> class_of_few(const codegen::Isa& isa, const rkernel::Operand& operand,
                                        graph::Dim stride) {
  const std::size_t bytes = size_of(operand.dtype);
  const bool fits =
      bytes == sizeof(float) || (operand.written && bytes < sizeof(float) && isa.mask_registers);
  if (operand.gathers || !operand.guards.empty() || !fits) return std::nullopt;
  for (const StrideClass few : {StrideClass::Two, StrideClass::Three, StrideClass::Four}) {
    if (stride.valid() && stride.constant() == codegen::few_of(few)) return few;
  }
  return std::nullopt;
}

/// True where guards keep nothing from an operand but lanes outside of a range of theirs, where it
/// is 0.
bool has_zeros_beside(const rkernel::Operand& operand, int lane_axis) {
  return operand.fill == 0 && !operand.absent_outside &&
         std::ranges::all_of(operand.guards, [&](const rkernel::Guard& guard) {
           return guard.range_axis() == lane_axis;
         });
}

bool is_transposed(const codegen::Isa& isa, const rkernel::Operand& operand, int lane_axis,
                   int axis) {
  const graph::Dim along = operand.strides[static_cast<std::size_t>(axis)],
                   lanes = operand.strides[static_cast<std::size_t>(lane_axis)];
  return !operand.written && !operand.gathers && along.constant() == 1 &&
         (operand.guards.empty() || has_zeros_beside(operand, lane_axis)) &&
         lanes.constant() != 0 && lanes.constant() != 1 && !class_of_few(isa, operand, lanes);
}

/// The axis of the largest operand that is transposed; -1: there is none.
int find_transposed_axis(const codegen::Isa& isa, const rkernel::Problem& problem) {
  int found = -1;
  std::ptrdiff_t most = 0;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    if (axis == problem.lane_axis ||
        problem.axes[static_cast<std::size_t>(axis)].kind != rkernel::AxisKind::Parallel)
      continue;
    for (const rkernel::Operand& operand : problem.operands) {
      if (!is_transposed(isa, operand, problem.lane_axis, axis)) continue;
      const auto varying = std::ranges::count_if(
          operand.strides, [](graph::Dim stride) { return stride.constant() != 0; });
      if (varying > most) most = varying, found = axis;
    }
  }
  return found;
}

/// The axis before the lanes, where an operand's lanes are stored apart and its elements lie
/// between them; -1: there is none.
int find_axis_between(const codegen::Isa& isa, const rkernel::Problem& problem) {
  const int axis = problem.lane_axis - 1;
  const bool found =
      axis >= 0 && std::ranges::any_of(problem.operands, [&](const rkernel::Operand& operand) {
        const graph::Dim lanes = operand.strides[static_cast<std::size_t>(problem.lane_axis)];
        return operand.written && class_of_few(isa, operand, lanes) &&
               operand.strides[static_cast<std::size_t>(axis)].constant() == 1;
      });
  return found ? axis : -1;
}

/// As the axes stand, but what lies between the lanes' elements comes behind the lanes: the lines
/// that one chunk writes are still there when the next one fills them up.
std::vector<int> order_of_loops(const codegen::Isa& isa, const rkernel::Problem& problem) {
  std::vector<int> order(problem.axes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto lane = static_cast<std::size_t>(problem.lane_axis);
  if (const int between = find_axis_between(isa, problem); between >= 0)
    std::swap(order[static_cast<std::size_t>(between)], order[lane]);
  return order;
}

rkernel::RKernel make_tree(const LoopProblem& loop) {
  const rkernel::Problem& problem = loop.problem;
  const int width = loop.isa.f32_lanes;
  rkernel::RKernel tree;
  tree.problem = &problem;
  tree.vector_width = width;
  rkernel::Layer registers{.name = "registers", .loops = {}, .moves = {}};
  rkernel::Layer threads{.name = "threads", .loops = {}, .moves = {}};
  if (loop.sliced) {
    // Outermost, so that the tickets of one slice follow each other.
    for (const SliceSlots::Axis& sliced : loop.sliced->axes)
      threads.loops.push_back({sliced.axis, rkernel::LoopKind::Parallel, 0});
    registers.carried = carried_values(problem);
  }
  for (const int axis : order_of_loops(loop.isa, problem)) {
    const bool lanes = axis == problem.lane_axis;
    if (problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction) {
      registers.loops.push_back(
          {axis, rkernel::LoopKind::TemporalReduction, lanes ? reduction_lanes : 1});
    } else {
      const bool steps = axis == loop.steps_axis();
      threads.loops.push_back({axis, rkernel::LoopKind::Parallel, lanes || steps ? 0 : 1});
      if (loop.windows && (lanes || steps))
        registers.loops.push_back({axis, rkernel::LoopKind::TemporalSpatial,
                                   lanes ? loop.windows->vectors * width : loop.windows->windows});
      else if (steps || (lanes && loop.transposed_axis >= 0))
        registers.loops.push_back({axis, rkernel::LoopKind::TemporalSpatial, width});
      else if (lanes)
        registers.loops.push_back(
            {axis, rkernel::LoopKind::TemporalSpatial, vectors_of_body(problem, width) * width});
    }
  }
  tree.layers = {std::move(registers), std::move(threads)};
  return tree;
}

/// All combinations of the classes that each operand's stride along the lane axis can have.
std::vector<std::vector<StrideClass>> lane_combinations(const LoopProblem& loop) {
  const rkernel::Problem& problem = loop.problem;
  std::vector<std::vector<StrideClass>> possible;
  std::size_t count = 1;
  for (const rkernel::Operand& operand : problem.operands) {
    const graph::Dim stride = operand.strides[static_cast<std::size_t>(problem.lane_axis)];
    const std::optional<StrideClass> few = class_of_few(loop.isa, operand, stride);
    possible.push_back(few ? std::vector{*few} : codegen::possible_classes(stride));
    count = std::min(count * possible.back().size(), most_loop_classes + 1);
  }
  std::vector<std::vector<StrideClass>> combinations(1);
  for (const std::vector<StrideClass>& choices : possible) {
    std::vector<std::vector<StrideClass>> longer;
    for (const std::vector<StrideClass>& prefix : combinations) {
      const bool undecided = choices.size() > 1;
      for (const StrideClass choice : choices) {
        if (undecided && count > most_loop_classes && choice != StrideClass::Any) continue;
        longer.push_back(prefix);
        longer.back().push_back(choice);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

/// Whether nothing is stored before all reductions are known, and each of them comes from the
/// operands alone.
bool passes_once(const LoopProblem& loop) {
  return std::ranges::all_of(
      lane_combinations(loop), [&](const std::vector<StrideClass>& lane_classes) {
        const codegen::LoopPasses plan =
            codegen::plan_passes(loop.problem, loop.slots, lane_classes, false);
        return plan.passes.size() == 1 && plan.passes.front().stores.empty();
      });
}

/// The bytes of the largest element of all reductions, and of all values that some passes may keep.
int largest_kept_bytes(const LoopProblem& loop) {
  std::size_t bytes = sizeof(float);
  const auto keep = [&](const rkernel::Expr& expr) {
    bytes = std::max(bytes, size_of(expr.dtype));
  };
  for (const rkernel::Expr& expr : loop.problem.exprs)
    if (rkernel::is_reduction(expr.op)) keep(expr);
  if (!loop.lanes_reduced()) return static_cast<int>(bytes);
  for (const std::vector<StrideClass>& lane_classes : lane_combinations(loop))
    for (const int expr :
         codegen::plan_passes(loop.problem, loop.slots, lane_classes, true).scratch)
      keep(loop.problem.exprs[static_cast<std::size_t>(expr)]);
  return static_cast<int>(bytes);
}

/// Numbers of values in scratch to have code for: none where scratch may become too large, all
/// where it may fit.
std::vector<int> scratch_choices(const LoopProblem& loop,
                                 const std::vector<StrideClass>& lane_classes) {
  if (!loop.lanes_reduced()) return {0};
  const int values = static_cast<int>(
      codegen::plan_passes(loop.problem, loop.slots, lane_classes, true).scratch.size());
  if (values == 0) return {0};
  double largest = static_cast<double>(values) * loop.scratch_element_bytes;
  for (const rkernel::Axis& axis : loop.problem.axes)
    if (axis.kind == rkernel::AxisKind::Reduction)
      largest *= static_cast<double>(graph::bounds(axis.extent).high);
  if (largest <= static_cast<double>(scratch_limit_bytes)) return {values};
  return {values, 0};
}

}  // namespace

LoopProblem::LoopProblem(const rkernel::Problem& source, const codegen::Isa& used)
    : problem(codegen::with_lanes(source)), slots(problem), isa(used) {
  chunk_slot = slots.add_strategy_slot();
  chunks_slot = slots.add_strategy_slot();
  stream_slot = slots.add_strategy_slot();
  grouped_slot = slots.add_strategy_slot();
  ahead_slot = slots.add_strategy_slot();
  far_ahead_slot = slots.add_strategy_slot();
  steps_chunk_slot = slots.add_strategy_slot();
  steps_chunks_slot = slots.add_strategy_slot();
  if (!reduces()) transposed_axis = find_transposed_axis(isa, problem);
  axis_between = find_axis_between(isa, problem);
  if (may_slice(problem) && passes_once(*this)) sliced = add_slice_slots(problem, slots);
  for (int operand = 0; transposed_axis >= 0 && operand < static_cast<int>(problem.operands.size());
       ++operand)
    if (is_transposed(isa, problem.operands[static_cast<std::size_t>(operand)], problem.lane_axis,
                      transposed_axis))
      transposed_operands.push_back(operand);
  if (!sliced) windows = find_window_steps(problem, isa.f32_lanes);
  scratch_element_bytes = largest_kept_bytes(*this);
  tree = make_tree(*this);
}

bool reduces_window(const rkernel::Problem& problem) {
  // Windows of 7 x 7; beyond, chunks of lanes that stay in L1 are read in long runs.
  constexpr std::int64_t most = 49;
  if (!problem.has_reduction() || problem.axes[static_cast<std::size_t>(problem.lane_axis)].kind ==
                                      rkernel::AxisKind::Reduction)
    return false;
  std::int64_t elements = 1;
  for (const rkernel::Axis& axis : problem.axes)
    if (axis.kind == rkernel::AxisKind::Reduction)
      elements *= std::min(axis.extent.constant().value_or(most + 1), most + 1);
  return elements <= most;
}

bool sums_products(const rkernel::Problem& problem, int reduction) {
  const rkernel::Expr& sum = problem.exprs[static_cast<std::size_t>(reduction)];
  return sum.op == rkernel::ExprOp::ReduceSum && is_float(sum.dtype) &&
         problem.exprs[static_cast<std::size_t>(sum.args[0])].op == rkernel::ExprOp::Mul &&
         reduces_window(problem);
}

bool LoopProblem::lanes_reduced() const {
  return problem.axes[static_cast<std::size_t>(problem.lane_axis)].kind ==
         rkernel::AxisKind::Reduction;
}

bool LoopProblem::reduces() const {
  for (const rkernel::Axis& axis : problem.axes)
    if (axis.kind == rkernel::AxisKind::Reduction) return true;
  return false;
}

std::vector<LoopClass> loop_classes(const LoopProblem& loop) {
  std::vector<LoopClass> classes;
  for (const auto& combination : lane_combinations(loop))
    for (const int scratch : scratch_choices(loop, combination)) {
      std::string key = fmt::format("loop {} {} {}", scratch > 0 ? "scratch" : "plain",
                                    codegen::class_letters(combination),
                                    codegen::structure_key(loop.problem, loop.slots));
      for (const rkernel::Loop& step : loop.tree.layers.front().loops)
        key += fmt::format("; tile {} of {}", step.tile, step.axis);
      for (const int operand : loop.transposed_operands)
        key += fmt::format("; transposed {} along {}", operand, loop.transposed_axis);
      if (loop.windows) key += "; windows " + key_of(loop.problem, *loop.windows);
      if (loop.sliced) key += "; sliced";
      if (loop.reduces()) key += fmt::format("; scratch of {}", loop.scratch_element_bytes);
      const codegen::LoopPasses plan =
          codegen::plan_passes(loop.problem, loop.slots, combination, scratch > 0);
      int reductions = 0;
      for (const codegen::LoopPass& pass : plan.passes)
        reductions += static_cast<int>(pass.reductions.size());
      classes.push_back(
          {combination, static_cast<int>(plan.passes.size()), reductions, scratch, std::move(key)});
    }
  return classes;
}

std::int64_t scratch_elements(const LoopProblem& loop, std::span<const std::int64_t> ints) {
  std::int64_t elements = 1;
  for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis) {
    if (loop.problem.axes[static_cast<std::size_t>(axis)].kind != rkernel::AxisKind::Reduction)
      continue;
    std::int64_t extent = ints[static_cast<std::size_t>(loop.slots.extent(axis))];
    if (axis == loop.problem.lane_axis)
      extent = (extent + reduction_lanes - 1) / reduction_lanes * reduction_lanes;
    elements *= extent;
  }
  return elements;
}

std::int64_t scratch_bytes(const LoopProblem& loop, const LoopClass& loop_class,
                           std::span<const std::int64_t> ints) {
  const std::int64_t lanes = loop.isa.f32_lanes, element_bytes = loop.scratch_element_bytes;
  if (loop.transposed_axis >= 0)
    return static_cast<std::int64_t>(loop.transposed_operands.size()) * lanes * lanes * 8;
  // Vectors that do not begin at a whole block, for the sake of streams, may end behind the last
  // one.
  if (!loop.lanes_reduced())
    return loop_class.reductions == 0
               ? 0
               : (ints[static_cast<std::size_t>(loop.chunk_slot)] * loop_class.reductions + lanes) *
                     element_bytes;
  if (loop_class.scratch_values == 0) return 0;
  return (scratch_elements(loop, ints) * loop_class.scratch_values + lanes) * element_bytes;
}

}  // namespace dyn::cpu
