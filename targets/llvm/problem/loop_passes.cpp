#include "targets/llvm/problem/loop_passes.hpp"

#include <algorithm>
#include <map>

namespace dyn::codegen {

using rkernel::Expr;

namespace {

AxisSet reduction_axes(const rkernel::Problem& problem) {
  AxisSet axes = 0;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction)
      axes |= axis_bit(axis);
  return axes;
}

class Planner {
 public:
  Planner(const rkernel::Problem& problem, const SlotTable& slots,
          std::span<const StrideClass> lane_classes, bool scratch, double threshold)
      : problem_(problem),
        slots_(slots),
        lane_classes_(lane_classes),
        scratch_(scratch),
        threshold_(threshold),
        varies_(expr_axes(problem, slots, lane_classes)),
        level_(problem.exprs.size(), -1),
        computed_in_(problem.exprs.size(), -1),
        needed_in_(problem.exprs.size(), -1),
        cost_(problem.exprs.size(), -1) {
    plan_.problem = &problem;
  }

  LoopPasses run() {
    for (const rkernel::Store& store : problem_.stores) level(store.expr);
    int last = -1;
    for (std::size_t expr = 0; expr < problem_.exprs.size(); ++expr)
      if (level_[expr] >= 0 && is_reduction(problem_.exprs[expr].op)) {
        last = std::max(last, level_[expr] - 1);
        pass(level_[expr] - 1).reductions.push_back(static_cast<int>(expr));
      }
    for (std::size_t store = 0; store < problem_.stores.size(); ++store)
      place(static_cast<int>(store));
    for (std::size_t i = 0; i < plan_.passes.size(); ++i) close(static_cast<int>(i));
    return std::move(plan_);
  }

 private:
  const Expr& at(int expr) const { return problem_.exprs[static_cast<std::size_t>(expr)]; }

  /// So many passes must be over before the expression's value is known.
  int level(int expr) {
    int& known = level_[static_cast<std::size_t>(expr)];
    if (known >= 0) return known;
    int result = 0;
    for (const int arg : at(expr).args)
      if (arg >= 0) result = std::max(result, level(arg));
    known = result + (is_reduction(at(expr).op) ? 1 : 0);
    return known;
  }

  LoopPass& pass(int index) {
    if (static_cast<int>(plan_.passes.size()) <= index)
      plan_.passes.resize(static_cast<std::size_t>(index) + 1);
    return plan_.passes[static_cast<std::size_t>(index)];
  }

  void place(int store) {
    const rkernel::Store& target = problem_.stores[static_cast<std::size_t>(store)];
    const auto operand = static_cast<std::size_t>(target.operand);
    const AxisSet axes = operand_axes(problem_, slots_, target.operand, lane_classes_[operand]);
    // Where an operand is empty its strides are 0, and only the value varies.
    const AxisSet value_axes = varies_[static_cast<std::size_t>(target.expr)];
    if (((axes | value_axes) & reduction_axes(problem_)) == 0)
      plan_.final_stores.push_back(store);
    else
      pass(level(target.expr)).stores.push_back(store);
  }

  void close(int index) {
    LoopPass& current = plan_.passes[static_cast<std::size_t>(index)];
    for (const int reduction : current.reductions) current.roots.push_back(at(reduction).args[0]);
    for (const int store : current.stores)
      current.roots.push_back(problem_.stores[static_cast<std::size_t>(store)].expr);
    for (const int root : current.roots) need(root, index);
  }

  void need(int expr, int index) {
    int& first = computed_in_[static_cast<std::size_t>(expr)];
    int& last = needed_in_[static_cast<std::size_t>(expr)];
    if (last == index || is_reduction(at(expr).op)) return;
    last = index;
    const bool in_lanes =
        (varies_[static_cast<std::size_t>(expr)] & axis_bit(problem_.lane_axis)) != 0;
    if (!in_lanes) return;
    LoopPass& current = plan_.passes[static_cast<std::size_t>(index)];
    if (first >= 0 && scratch_ && at(expr).dtype != DType::boolean && cost(expr) > threshold_) {
      current.loaded.push_back(expr);
      if (std::find(plan_.scratch.begin(), plan_.scratch.end(), expr) == plan_.scratch.end()) {
        plan_.scratch.push_back(expr);
        plan_.passes[static_cast<std::size_t>(first)].saved.push_back(expr);
      }
      return;
    }
    if (first < 0) first = index;
    for (const int arg : at(expr).args)
      if (arg >= 0) need(arg, index);
  }

  /// Instructions of one vector of the value, computed anew with all that it reads.
  double cost(int expr) {
    double& known = cost_[static_cast<std::size_t>(expr)];
    if (known < 0) known = cost_of(expr);
    return known;
  }

  double cost_of(int expr) {
    if ((varies_[static_cast<std::size_t>(expr)] & axis_bit(problem_.lane_axis)) == 0) return 0;
    const int operand = at(expr).operand;
    double sum = instructions_of(
        problem_, at(expr),
        operand < 0 ? StrideClass::Unit : lane_classes_[static_cast<std::size_t>(operand)]);
    for (const int arg : at(expr).args)
      if (arg >= 0) sum += cost(arg);
    return sum;
  }

  const rkernel::Problem& problem_;
  const SlotTable& slots_;
  std::span<const StrideClass> lane_classes_;
  bool scratch_;
  double threshold_;
  std::vector<AxisSet> varies_;
  std::vector<int> level_, computed_in_;
  std::vector<int> needed_in_;  ///< the last pass that is known to need the expression
  std::vector<double> cost_;    ///< below 0: not known
  LoopPasses plan_;
};

}  // namespace

rkernel::Problem with_lanes(rkernel::Problem problem) {
  if (!problem.axes.empty()) return problem;
  graph::DimTable& dims = problem.operands.front().offset.table();
  problem.axes.push_back({"one", dims.constant(1), rkernel::AxisKind::Parallel});
  for (rkernel::Operand& operand : problem.operands) operand.strides.push_back(dims.constant(0));
  problem.lane_axis = 0;
  return problem;
}

std::vector<int> LoopPasses::final_roots() const {
  std::vector<int> roots;
  for (const int store : final_stores)
    roots.push_back(problem->stores[static_cast<std::size_t>(store)].expr);
  return roots;
}

LoopPasses plan_passes(const rkernel::Problem& problem, const SlotTable& slots,
                       std::span<const StrideClass> lane_classes, bool scratch, double threshold) {
  return Planner(problem, slots, lane_classes, scratch, threshold).run();
}

}  // namespace dyn::codegen
