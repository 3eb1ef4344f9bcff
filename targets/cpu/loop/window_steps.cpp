#include "targets/cpu/loop/window_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/ir/module.hpp"
#include "targets/cpu/loop/class.hpp"

namespace dyn::cpu {

using rkernel::AxisKind;
using rkernel::Expr;
using rkernel::ExprOp;
using rkernel::Operand;
using rkernel::Problem;

namespace {

/// Windows whose code is written out element by element have so many along one line.
constexpr std::int64_t most_elements = 7;
constexpr std::int64_t largest_factor = 4;  ///< of strides and dilations that are told apart

/// The smallest factors whose products with two strides, neither of them 0, are equal: window
/// `element` reads its first element where window 0 reads its element `window`.
std::optional<WindowPlace> ratio_of(graph::Dim along_windows, graph::Dim along_elements) {
  graph::DimTable& dims = along_windows.table();
  for (std::int64_t window = 1; window <= largest_factor; ++window) {
    for (std::int64_t element = 1; element <= largest_factor; ++element) {
      if (graph::prove_equal(along_windows * dims.constant(element),
                             along_elements * dims.constant(window)) == true)
        return WindowPlace{window, element};
    }
  }
  return std::nullopt;
}

std::int64_t factor_along(const rkernel::Guard& guard, int axis) {
  for (const graph::CoordTerm& term : guard.terms) {
    if (term.axis == axis) return term.factor.constant().value_or(-1);
  }
  return 0;
}

/// The two axes of the steps.
struct Axes {
  int windows, elements;
};

std::optional<WindowPlace> place_of_operand(const Operand& operand, const Axes& axes) {
  const graph::Dim windows = operand.strides[static_cast<std::size_t>(axes.windows)],
                   elements = operand.strides[static_cast<std::size_t>(axes.elements)];
  const bool slides = windows.constant() != 0, runs = elements.constant() != 0;
  const std::optional<WindowPlace> place =
      slides && runs ? ratio_of(windows, elements) : std::optional(WindowPlace{slides, runs});
  if (!place) return std::nullopt;
  const bool guards_follow = std::ranges::all_of(operand.guards, [&](const rkernel::Guard& guard) {
    const std::int64_t along_windows = factor_along(guard, axes.windows),
                       along_elements = factor_along(guard, axes.elements);
    return along_windows >= 0 && along_elements >= 0 &&
           along_windows * place->element == along_elements * place->window &&
           (place->window != 0 || along_windows == 0) &&
           (place->element != 0 || along_elements == 0);
  });
  return guards_follow ? place : std::nullopt;
}

std::optional<WindowPlace> joined(const std::optional<WindowPlace>& a,
                                  const std::optional<WindowPlace>& b) {
  if (!a || !b) return std::nullopt;
  if (!a->varies()) return b;
  return !b->varies() || *a == *b ? a : std::nullopt;
}

std::optional<WindowPlace> place_of(const Problem& problem, const Axes& axes, int position) {
  const Expr& expr = problem.exprs[static_cast<std::size_t>(position)];
  if (rkernel::is_reduction(expr.op) || expr.op == ExprOp::Accumulator) return std::nullopt;
  if (expr.op == ExprOp::Index)
    return WindowPlace{expr.axis == axes.windows, expr.axis == axes.elements};
  std::optional<WindowPlace> place = WindowPlace{};
  if (expr.op == ExprOp::Load) {
    const Operand& operand = problem.operands[static_cast<std::size_t>(expr.operand)];
    // Where a gathered element lies only the index tells.
    if (operand.gathers) return std::nullopt;
    place = place_of_operand(operand, axes);
  }
  for (const int arg : expr.args)
    if (arg >= 0) place = joined(place, place_of(problem, axes, arg));
  return place;
}

void collect(const Problem& problem, const Axes& axes, int position,
             std::vector<SharedExpr>& shared) {
  if (const auto place = place_of(problem, axes, position)) {
    const bool known =
        std::ranges::any_of(shared, [&](const SharedExpr& each) { return each.expr == position; });
    if (place->varies() && !known) shared.push_back({position, *place});
    return;
  }
  for (const int arg : problem.exprs[static_cast<std::size_t>(position)].args)
    if (arg >= 0) collect(problem, axes, arg, shared);
}

/// True where several windows of a block read an element of an operand.
bool share_elements(const Problem& problem, const WindowSteps& steps) {
  const Axes axes{steps.axis, steps.window};
  return std::ranges::any_of(problem.operands, [&](const Operand& operand) {
    if (operand.written || operand.gathers) return false;
    const auto place = place_of_operand(operand, axes);
    return place && place->window != 0 && place->element != 0 && place->window < steps.elements &&
           place->element < steps.windows;
  });
}

/// The windows and vectors of a block, by the accumulators that registers hold.
std::optional<WindowSteps> block_of(const Problem& problem, const Axes& axes, std::int64_t elements,
                                    int width) {
  const auto reductions = std::ranges::count_if(
      problem.exprs, [](const Expr& e) { return rkernel::is_reduction(e.op); });
  constexpr int most_reductions = 2;
  if (reductions > most_reductions) return std::nullopt;
  const auto lanes = problem.axes[static_cast<std::size_t>(problem.lane_axis)].extent.constant();
  const bool odd = lanes && *lanes / width % 2 != 0;
  const int accumulators = window_accumulators / static_cast<int>(reductions),
            vectors = odd ? 1 : 2;
  return WindowSteps{axes.windows, axes.elements, elements, accumulators / vectors, vectors};
}

void find_loads(const Problem& problem, int position, std::set<int>& found) {
  const Expr& expr = problem.exprs[static_cast<std::size_t>(position)];
  if (expr.op == ExprOp::Load) found.insert(expr.operand);
  for (const int arg : expr.args)
    if (arg >= 0) find_loads(problem, arg, found);
}

}  // namespace

std::optional<WindowSteps> find_window_steps(const Problem& problem, int width) {
  if (!reduces_window(problem)) return std::nullopt;
  const int count = static_cast<int>(problem.axes.size());
  for (int elements = count; elements-- > 0;) {
    const rkernel::Axis& inside = problem.axes[static_cast<std::size_t>(elements)];
    const std::int64_t extent = inside.extent.constant().value_or(0);
    if (inside.kind != AxisKind::Reduction || extent < 2 || extent > most_elements) continue;
    for (int windows = elements; windows-- > 0;) {
      if (problem.axes[static_cast<std::size_t>(windows)].kind != AxisKind::Parallel ||
          windows == problem.lane_axis)
        continue;
      const auto block = block_of(problem, {windows, elements}, extent, width);
      if (block && share_elements(problem, *block)) return block;
    }
  }
  return std::nullopt;
}

std::string key_of(const Problem& problem, const WindowSteps& steps) {
  std::string key = fmt::format("{} along {} of {} along {}", steps.windows, steps.axis,
                                steps.elements, steps.window);
  for (const Operand& operand : problem.operands) {
    const auto place = place_of_operand(operand, {steps.axis, steps.window});
    key += place ? fmt::format(" {}/{}", place->window, place->element) : " -";
  }
  return key;
}

std::vector<SharedExpr> shared_exprs(const Problem& problem, const WindowSteps& steps, int expr) {
  std::vector<SharedExpr> shared;
  const Axes axes{steps.axis, steps.window};
  const int reduced = problem.exprs[static_cast<std::size_t>(expr)].args[0];
  if (!sums_products(problem, expr)) {
    collect(problem, axes, reduced, shared);
    return shared;
  }
  const Expr& product = problem.exprs[static_cast<std::size_t>(reduced)];
  for (const int factor : {product.args[0], product.args[1]})
    collect(problem, axes, factor, shared);
  return shared;
}

std::vector<int> loaded_operands(const Problem& problem, int expr) {
  std::set<int> found;
  find_loads(problem, expr, found);
  return {found.begin(), found.end()};
}

}  // namespace dyn::cpu
