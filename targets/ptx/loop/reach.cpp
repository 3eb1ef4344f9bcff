#include "targets/ptx/loop/reach.hpp"

#include <algorithm>
#include <cmath>

#include "targets/llvm/problem/variation.hpp"

namespace dyn::ptx {

using codegen::SlotTable;
using codegen::StrideClass;

namespace {

/// Below 2^31 by more than one step of any loop.
constexpr double narrow_limit = static_cast<double>((std::int64_t{1} << 31) - (1 << 24));
constexpr std::size_t vector_bytes = 16;

/// The largest magnitudes that dims may have.
struct AllSizes {
  const LoopProblem& loop;

  static double largest(graph::Dim dim) {
    if (!dim.valid()) return 0;
    const graph::Interval range = graph::bounds(dim);
    return std::max(std::fabs(static_cast<double>(range.low)),
                    std::fabs(static_cast<double>(range.high)));
  }
  double extent(int axis) const {
    return largest(loop.problem.axes[static_cast<std::size_t>(axis)].extent);
  }
  double stride(int operand, int axis) const {
    return largest(loop.problem.operands[static_cast<std::size_t>(operand)]
                       .strides[static_cast<std::size_t>(axis)]);
  }
  double offset(int operand) const {
    return largest(loop.problem.operands[static_cast<std::size_t>(operand)].offset);
  }
  double bound(int operand, int guard) const {
    const rkernel::Guard& range = guard_at(operand, guard);
    return std::max(largest(range.low), largest(range.high));
  }
  double factor(int operand, int guard, std::size_t term) const {
    return largest(guard_at(operand, guard).terms[term].factor);
  }
  const rkernel::Guard& guard_at(int operand, int guard) const {
    return loop.problem.operands[static_cast<std::size_t>(operand)]
        .guards[static_cast<std::size_t>(guard)];
  }
};

/// Those of a launch.
struct LaunchSizes {
  const LoopProblem& loop;
  std::span<const std::int64_t> ints;

  double value(int slot) const {
    return std::fabs(static_cast<double>(codegen::value_of(slot, ints)));
  }
  double extent(int axis) const { return value(loop.slots.extent(axis)); }
  double stride(int operand, int axis) const { return value(loop.slots.stride(operand, axis)); }
  double offset(int operand) const { return value(loop.slots.offset(operand)); }
  double bound(int operand, int guard) const {
    return std::max(value(loop.slots.guard_low(operand, guard)),
                    value(loop.slots.guard_high(operand, guard)));
  }
  double factor(int operand, int guard, std::size_t term) const {
    const int slot = loop.slots.guard_factor(operand, guard, term);
    return slot == SlotTable::none ? 1 : value(slot);
  }
};

template <class Sizes>
bool guards_are_narrow(const rkernel::Problem& problem, int operand, const Sizes& sizes) {
  const auto& guards = problem.operands[static_cast<std::size_t>(operand)].guards;
  for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
    double reach = sizes.bound(operand, guard);
    const auto& terms = guards[static_cast<std::size_t>(guard)].terms;
    for (std::size_t term = 0; term < terms.size(); ++term)
      reach += sizes.extent(terms[term].axis) * sizes.factor(operand, guard, term);
    if (!(reach < narrow_limit)) return false;
  }
  return true;
}

template <class Sizes>
bool narrow_with(const rkernel::Problem& problem, const Sizes& sizes) {
  const int axes = static_cast<int>(problem.axes.size());
  double points = 1;
  for (int axis = 0; axis < axes; ++axis) {
    const double extent = sizes.extent(axis);
    if (!(extent < narrow_limit)) return false;
    if (problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Parallel)
      points *= extent;
  }
  if (!(points < narrow_limit)) return false;
  for (int operand = 0; operand < static_cast<int>(problem.operands.size()); ++operand) {
    double reach = sizes.offset(operand);
    for (int axis = 0; axis < axes; ++axis)
      reach += sizes.extent(axis) * sizes.stride(operand, axis);
    if (!(reach < narrow_limit) || !guards_are_narrow(problem, operand, sizes)) return false;
  }
  return true;
}

bool guarded_along(const rkernel::Operand& operand, int axis) {
  return std::ranges::any_of(operand.guards, [&](const rkernel::Guard& guard) {
    return std::ranges::any_of(guard.terms,
                               [&](const graph::CoordTerm& term) { return term.axis == axis; });
  });
}

bool is_same_for_all_lanes(const LoopProblem& loop, std::span<const StrideClass> lane_classes) {
  const rkernel::Problem& problem = loop.problem;
  const codegen::AxisSet lanes = codegen::axis_bit(problem.lane_axis);
  const std::vector<codegen::AxisSet> varies =
      codegen::expr_axes(problem, loop.slots, lane_classes);
  const auto lie_apart = [&](int expr) {
    return (varies[static_cast<std::size_t>(expr)] & lanes) != 0;
  };
  const bool gathers = std::ranges::any_of(problem.exprs, [&](const rkernel::Expr& expr) {
    return expr.op == rkernel::ExprOp::Load && expr.args[0] >= 0 && lie_apart(expr.args[0]);
  });
  return !gathers && std::ranges::all_of(problem.stores, [&](const rkernel::Store& store) {
    const StrideClass stored = lane_classes[static_cast<std::size_t>(store.operand)];
    return stored == StrideClass::Unit || (loop.lanes_reduced() && !lie_apart(store.expr));
  });
}

bool reads_table(const rkernel::Expr& expr) {
  using rkernel::ExprOp;
  return expr.op == ExprOp::Sin || expr.op == ExprOp::Cos || expr.op == ExprOp::Tan;
}

}  // namespace

StrideClass class_in_vectors(const rkernel::Problem& problem, const rkernel::Operand& operand) {
  if (guarded_along(operand, problem.lane_axis)) return StrideClass::Any;
  const auto possible =
      codegen::possible_classes(operand.strides[static_cast<std::size_t>(problem.lane_axis)]);
  if (possible.size() == 1) return possible.front();
  return std::ranges::find(possible, StrideClass::Unit) != possible.end() ? StrideClass::Unit
                                                                          : StrideClass::Any;
}

bool may_have_lanes(const LoopProblem& loop, std::span<const StrideClass> lane_classes) {
  return std::ranges::none_of(loop.problem.exprs, reads_table) &&
         is_same_for_all_lanes(loop, lane_classes);
}

int elements_of_vector(std::size_t widest) {
  // More than 8 elements of one byte would need as many registers of each value.
  return static_cast<int>(vector_bytes / std::max<std::size_t>(widest, 2));
}

bool is_always_narrow(const LoopProblem& problem) {
  return narrow_with(problem.problem, AllSizes{problem});
}

bool is_narrow(const LoopProblem& problem, std::span<const std::int64_t> ints) {
  return narrow_with(problem.problem, LaunchSizes{problem, ints});
}

int vector_width(const LoopProblem& loop, std::vector<StrideClass>& lane_classes) {
  lane_classes.clear();
  std::size_t widest = 0;
  for (const rkernel::Operand& operand : loop.problem.operands) {
    lane_classes.push_back(class_in_vectors(loop.problem, operand));
    if (lane_classes.back() == StrideClass::Any) return 1;
    if (lane_classes.back() == StrideClass::Unit) widest = std::max(widest, size_of(operand.dtype));
  }
  return widest == 0 || !may_have_lanes(loop, lane_classes) ? 1 : elements_of_vector(widest);
}

bool are_always_aligned(const LoopProblem& loop, std::span<const StrideClass> lane_classes,
                        int width) {
  const auto is_whole = [&](graph::Dim dim) {
    return !dim.valid() || graph::prove_multiple(dim, width) == true;
  };
  const int lane = loop.problem.lane_axis;
  for (std::size_t i = 0; i < loop.problem.operands.size(); ++i) {
    const rkernel::Operand& operand = loop.problem.operands[i];
    if (lane_classes[i] != StrideClass::Unit) continue;
    if (!is_whole(operand.offset) || (operand.gathers && !is_whole(operand.gather_stride)))
      return false;
    for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
      const graph::Dim stride = operand.strides[static_cast<std::size_t>(axis)];
      if (axis == lane ? codegen::possible_classes(stride).size() > 1 : !is_whole(stride))
        return false;
    }
  }
  return true;
}

bool are_aligned(const LoopProblem& loop, std::span<const StrideClass> lane_classes, int width,
                 std::span<const std::int64_t> ints) {
  const SlotTable& slots = loop.slots;
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  for (int operand = 0; operand < static_cast<int>(loop.problem.operands.size()); ++operand) {
    if (lane_classes[static_cast<std::size_t>(operand)] != StrideClass::Unit) continue;
    bool all = value(slots.offset(operand)) % width == 0;
    for (int axis = 0; axis < static_cast<int>(loop.problem.axes.size()); ++axis) {
      if (value(slots.extent(axis)) <= 1) continue;
      const std::int64_t stride = value(slots.stride(operand, axis));
      all = all && (axis == loop.problem.lane_axis ? stride == 1 : stride % width == 0);
    }
    if (loop.problem.operands[static_cast<std::size_t>(operand)].gathers)
      all = all && value(slots.gather_stride(operand)) % width == 0;
    if (!all) return false;
  }
  return true;
}

}  // namespace dyn::ptx
