// The axes of a problem: lanes, merging, names.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "src/rkernel/problem/group_lowering.hpp"

namespace dyn::rkernel {
namespace {

using graph::Dim;

/// Puts the axes into the order `order`, which holds old axis numbers.
void reorder(Problem& problem, const std::vector<int>& order) {
  std::vector<int> now(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    now[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  std::vector<Axis> axes;
  for (const int old : order) axes.push_back(problem.axes[static_cast<std::size_t>(old)]);
  problem.axes = std::move(axes);
  for (Operand& operand : problem.operands) {
    std::vector<Dim> strides;
    for (const int old : order) strides.push_back(operand.strides[static_cast<std::size_t>(old)]);
    operand.strides = std::move(strides);
    for (Guard& guard : operand.guards) {
      for (graph::CoordTerm& term : guard.terms)
        term.axis = now[static_cast<std::size_t>(term.axis)];
      std::ranges::sort(guard.terms, {}, &graph::CoordTerm::axis);
    }
  }
  for (Expr& expr : problem.exprs) {
    if (expr.axis >= 0) expr.axis = now[static_cast<std::size_t>(expr.axis)];
  }
}

/// The gain of lanes along `axis`: operands whose elements are contiguous there count. One that
/// varies along another axis too counts for more than all that do not: the results of several
/// reductions are few beside what is reduced.
std::int64_t lane_score(const Problem& problem, std::size_t axis) {
  constexpr std::int64_t larger = 64;
  std::int64_t score = 0;
  for (const Operand& operand : problem.operands) {
    if (operand.strides[axis].constant() != 1) continue;
    const auto varying =
        std::ranges::count_if(operand.strides, [](Dim stride) { return stride.constant() != 0; });
    std::int64_t elements = operand.written ? 2 : 1;
    for (std::int64_t axes = std::min<std::int64_t>(varying, 8); axes > 0; --axes)
      elements *= larger;
    score += elements;
  }
  return score;
}

/// True where an expression uses the index along the axis itself, so that the axis cannot be
/// merged.
bool is_pinned(const Problem& problem, int axis) {
  const auto uses = [axis](const auto& item) { return item.axis == axis; };
  const auto guards = [&](const Guard& guard) { return std::ranges::any_of(guard.terms, uses); };
  return std::ranges::any_of(problem.exprs, uses) ||
         std::ranges::any_of(problem.operands, [&](const Operand& operand) {
           return std::ranges::any_of(operand.guards, guards);
         });
}

bool is_single(const Axis& axis) { return axis.extent.constant() == 1; }

/// True where axes i and i + 1 are one axis for every operand: along an axis of one element, any
/// stride is.
bool can_merge(const Problem& problem, std::size_t i) {
  if (problem.axes[i].kind != problem.axes[i + 1].kind) return false;
  const int last = static_cast<int>(i) + 1;
  // m, n and k are not merged; batches merge with each other and into m.
  if (problem.contraction && last > problem.contraction->m) return false;
  // Rows of attention belong to one batch, since each batch has its own keys.
  if (problem.attention && last >= problem.attention->m) return false;
  if (is_pinned(problem, last - 1) || is_pinned(problem, last)) return false;
  // A contraction's right side does not vary along m.
  if (problem.contraction && last == problem.contraction->m &&
      problem.operands[static_cast<std::size_t>(problem.contraction->b)].strides[i].constant() !=
          0 &&
      !is_single(problem.axes[i]))
    return false;
  const bool any_stride = is_single(problem.axes[i]) || is_single(problem.axes[i + 1]);
  return std::ranges::all_of(problem.operands, [&](const Operand& operand) {
    if (operand.window) {
      const auto has = [&](int axis) {
        return std::ranges::find(operand.window->axes, axis, &WindowAxis::axis) !=
               operand.window->axes.end();
      };
      if (has(last - 1) || has(last)) return has(last - 1) && has(last);
    }
    return any_stride || prove_equal(operand.strides[i],
                                     problem.axes[i + 1].extent * operand.strides[i + 1]) == true;
  });
}

void merge(Problem& problem, std::size_t i) {
  const auto shift = [i](int& axis) {
    if (axis > static_cast<int>(i)) --axis;
  };
  if (is_single(problem.axes[i + 1]) && !is_single(problem.axes[i])) {
    for (Operand& operand : problem.operands) operand.strides[i + 1] = operand.strides[i];
  }
  problem.axes[i + 1].extent = problem.axes[i].extent * problem.axes[i + 1].extent;
  problem.axes.erase(problem.axes.begin() + static_cast<std::ptrdiff_t>(i));
  for (Operand& operand : problem.operands) {
    operand.strides.erase(operand.strides.begin() + static_cast<std::ptrdiff_t>(i));
    for (Guard& guard : operand.guards) {
      for (graph::CoordTerm& term : guard.terms) shift(term.axis);
    }
    if (!operand.window) continue;
    for (WindowAxis& part : operand.window->axes) shift(part.axis);
  }
  for (Expr& expr : problem.exprs) shift(expr.axis);
  shift(problem.lane_axis);
  if (problem.contraction) {
    shift(problem.contraction->m);
    shift(problem.contraction->n);
    shift(problem.contraction->k);
  }
  if (problem.attention) {
    for (int* axis : {&problem.attention->m, &problem.attention->n, &problem.attention->keys,
                      &problem.attention->d})
      shift(*axis);
  }
}

/// b0, b1, m, n, k for a contraction; b0, b1, m, n, keys, d for attention; else p0, p1, ... for
/// parallel axes and r0, r1, ... for reduced ones.
void name_axes(Problem& problem) {
  int parallel = 0, reduced = 0;
  const char* parallel_stem = problem.contraction || problem.attention ? "b" : "p";
  for (Axis& axis : problem.axes) {
    const bool is_parallel = axis.kind == AxisKind::Parallel;
    axis.name = fmt::format("{}{}", is_parallel ? parallel_stem : "r",
                            is_parallel ? parallel++ : reduced++);
  }
  const auto rename = [&](int axis, const char* name) {
    problem.axes[static_cast<std::size_t>(axis)].name = name;
  };
  if (problem.contraction) {
    rename(problem.contraction->m, "m");
    rename(problem.contraction->n, "n");
    rename(problem.contraction->k, "k");
  }
  if (problem.attention) {
    rename(problem.attention->m, "m");
    rename(problem.attention->n, "n");
    rename(problem.attention->keys, "keys");
    rename(problem.attention->d, "d");
  }
}

}  // namespace

namespace {

/// Lanes along an axis of so few elements are idle but for these. Elements that lie as far apart
/// are nearly as cheap to reach as neighbours.
constexpr std::int64_t few_elements = 4;

bool is_guarded_along(const Operand& operand, std::size_t axis) {
  return std::ranges::any_of(operand.guards, [&](const Guard& guard) {
    return std::ranges::find(guard.terms, static_cast<int>(axis), &graph::CoordTerm::axis) !=
           guard.terms.end();
  });
}

std::size_t instead_of_few(const Problem& problem, std::size_t lane) {
  const auto few = problem.axes[lane].extent.constant();
  if (!few || *few < 2 || *few > few_elements) return lane;
  const auto reaches = [&](std::size_t axis) {
    return std::ranges::all_of(problem.operands, [&](const Operand& operand) {
      const auto stride = operand.strides[axis].constant();
      return stride && *stride >= 0 && *stride <= *few && !is_guarded_along(operand, axis) &&
             !operand.gathers && !operand.window;
    });
  };
  for (std::size_t axis = problem.axes.size(); axis-- > 0;) {
    const auto extent = problem.axes[axis].extent.constant();
    if (axis != lane && problem.axes[axis].kind == AxisKind::Parallel &&
        (!extent || *extent > few_elements) && reaches(axis))
      return axis;
  }
  return lane;
}

/// Whether the elements of a first axis lie between those of the lanes.
bool lies_between_lanes(const Problem& problem) {
  const auto few = problem.axes.front().extent.constant();
  return few && *few >= 2 && *few <= few_elements && problem.lane_axis > 0 &&
         problem.axes.front().kind == AxisKind::Parallel &&
         std::ranges::any_of(problem.operands, [&](const Operand& operand) {
           return operand.strides.front().constant() == 1 &&
                  operand.strides[static_cast<std::size_t>(problem.lane_axis)].constant() == *few;
         });
}

/// A first axis whose elements lie between those of the lanes stands before the lanes.
void put_few_before_lanes(Problem& problem) {
  if (!lies_between_lanes(problem)) return;
  std::vector<int> order(problem.axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + 1, order.begin() + problem.lane_axis);
  reorder(problem, order);
}

}  // namespace

void choose_lane_axis(Problem& problem) {
  if (problem.contraction || problem.attention) {
    problem.lane_axis = problem.contraction ? problem.contraction->n : problem.attention->n;
    return;
  }
  std::size_t lane = problem.axes.size() - 1;
  for (std::size_t axis = problem.axes.size(); axis-- > 0;) {
    if (lane_score(problem, axis) > lane_score(problem, lane)) lane = axis;
  }
  const std::size_t few = lane;
  lane = instead_of_few(problem, lane);
  std::vector<int> order(problem.axes.size());
  std::iota(order.begin(), order.end(), 0);
  // Moves it behind all others of its kind, and the few elements before them, so that the others
  // can merge.
  std::ranges::stable_sort(order, {}, [&](int axis) {
    const auto index = static_cast<std::size_t>(axis);
    const bool reduced = problem.axes[index].kind == AxisKind::Reduction;
    return 3 * reduced + (index == lane ? 2 : index == few ? 0 : 1);
  });
  reorder(problem, order);
  problem.lane_axis =
      static_cast<int>(std::ranges::find(order, static_cast<int>(lane)) - order.begin());
}

void merge_axes(Problem& problem) {
  for (std::size_t i = problem.axes.size() - 1; i-- > 0;) {
    if (can_merge(problem, i)) merge(problem, i);
  }
  if (!problem.contraction && !problem.attention) put_few_before_lanes(problem);
  name_axes(problem);
}

}  // namespace dyn::rkernel
