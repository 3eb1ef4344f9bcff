#include "targets/cpu/loop/slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/choice/calibration/calibration.hpp"

namespace dyn::cpu {

namespace {

using rkernel::AxisKind;
using rkernel::ExprOp;

struct Sizes {
  double rows = 1;     ///< points of the parallel axes without lanes
  double lanes = 1;    ///< of a parallel lane axis
  double reduced = 1;  ///< points of the reduction axes
};

std::int64_t slice_count(const Sizes& sizes, bool lanes_reduced) {
  const choice::Calibration& fitted = choice::default_calibration();
  if (sizes.rows < 1 || sizes.lanes < 1) return 1;
  const double tickets = sizes.rows * std::ceil(sizes.lanes / fitted.slice_lanes_of_ticket);
  const double elements =
      std::ceil((sizes.lanes < fitted.slice_wide_lanes ? fitted.slice_least_elements
                                                       : fitted.slice_least_elements_of_wide) /
                sizes.lanes);
  const double least = lanes_reduced ? elements : std::max(fitted.slice_least_rows, elements);
  return static_cast<std::int64_t>(std::max(
      std::min(std::floor(fitted.slice_most_tickets / tickets), std::floor(sizes.reduced / least)),
      1.0));
}

double neutral_of(ExprOp op) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return op == ExprOp::ReduceMax    ? -infinity
         : op == ExprOp::ReduceMin  ? infinity
         : op == ExprOp::ReduceProd ? 1
                                    : 0;
}

}  // namespace

bool may_slice(const rkernel::Problem& problem) {
  Sizes sizes;
  bool lanes_reduced = false;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    const rkernel::Axis& of = problem.axes[static_cast<std::size_t>(axis)];
    const graph::Interval bounds = graph::bounds(of.extent);
    const bool lanes = axis == problem.lane_axis;
    if (of.kind == AxisKind::Reduction) {
      sizes.reduced *= static_cast<double>(bounds.high);
      lanes_reduced = lanes_reduced || lanes;
    } else if (lanes) {
      // Most slices are made where lanes fill one ticket.
      sizes.lanes = std::clamp(choice::default_calibration().slice_lanes_of_ticket,
                               static_cast<double>(bounds.low), static_cast<double>(bounds.high));
    } else {
      sizes.rows *= static_cast<double>(std::max<std::int64_t>(bounds.low, 1));
    }
  }
  return problem.has_reduction() && slice_count(sizes, lanes_reduced) > 1;
}

SliceSlots add_slice_slots(const rkernel::Problem& problem, codegen::SlotTable& slots) {
  SliceSlots made;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    if (problem.axes[static_cast<std::size_t>(axis)].kind != AxisKind::Reduction) continue;
    SliceSlots::Axis sliced{axis, 0, 0};
    sliced.chunk = slots.add_strategy_slot();
    sliced.chunks = slots.add_strategy_slot();
    made.axes.push_back(sliced);
  }
  for (int* slot : {&made.slices, &made.slice_elements, &made.row_elements, &made.merge_chunk,
                    &made.merge_chunks})
    *slot = slots.add_strategy_slot();
  return made;
}

std::vector<rkernel::Carried> carried_values(const rkernel::Problem& problem) {
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (problem.axes[static_cast<std::size_t>(axis)].kind == AxisKind::Parallel)
      axes.push_back(axis);
  std::vector<rkernel::Carried> carried;
  for (const rkernel::Expr& expr : problem.exprs) {
    if (!rkernel::is_reduction(expr.op)) continue;
    const std::string name(rkernel::name_of(expr.op));
    carried.push_back({name, axes, neutral_of(expr.op), fmt::format("{} of elements", name),
                       fmt::format("{} of slices", name)});
  }
  return carried;
}

LoopSlices slices_of(const LoopProblem& loop, std::span<const std::int64_t> ints) {
  const rkernel::Problem& problem = loop.problem;
  const auto extent_of = [&](int axis) {
    return ints[static_cast<std::size_t>(loop.slots.extent(axis))];
  };
  Sizes sizes;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    const bool reduced = problem.axes[static_cast<std::size_t>(axis)].kind == AxisKind::Reduction;
    (reduced                     ? sizes.reduced
     : axis == problem.lane_axis ? sizes.lanes
                                 : sizes.rows) *= static_cast<double>(extent_of(axis));
  }
  LoopSlices slices;
  std::int64_t left = slice_count(sizes, loop.lanes_reduced());
  for (const SliceSlots::Axis& sliced : loop.sliced->axes) {
    const std::int64_t extent = std::max<std::int64_t>(extent_of(sliced.axis), 1);
    const std::int64_t unit = sliced.axis == problem.lane_axis ? reduction_lanes : 1;
    // Whole blocks of lanes, so that an element's lane does not depend on where its slice begins.
    const std::int64_t chunk = ((extent + left - 1) / left + unit - 1) / unit * unit;
    slices.chunk.push_back(chunk);
    slices.chunks.push_back((extent + chunk - 1) / chunk);
    slices.count *= slices.chunks.back();
    left = std::max<std::int64_t>(left / slices.chunks.back(), 1);
  }
  return slices;
}

}  // namespace dyn::cpu
