#include "targets/llvm/problem/variation.hpp"

namespace dyn::codegen {

AxisSet operand_axes(const rkernel::Problem& problem, const SlotTable& slots, int operand,
                     StrideClass lane_class) {
  AxisSet axes = 0;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (slots.stride(operand, axis) != SlotTable::none) axes |= axis_bit(axis);
  if (lane_class == StrideClass::Zero) axes &= ~axis_bit(problem.lane_axis);
  for (const rkernel::Guard& guard : problem.operands[static_cast<std::size_t>(operand)].guards) {
    for (const graph::CoordTerm& term : guard.terms) axes |= axis_bit(term.axis);
  }
  return axes;
}

bool is_border(const rkernel::Problem& problem, int expr) {
  const rkernel::Expr& comparison = problem.exprs[static_cast<std::size_t>(expr)];
  if (comparison.op != rkernel::ExprOp::Less && comparison.op != rkernel::ExprOp::GreaterEqual)
    return false;
  const rkernel::Expr& left = problem.exprs[static_cast<std::size_t>(comparison.args[0])];
  const rkernel::Expr& right = problem.exprs[static_cast<std::size_t>(comparison.args[1])];
  return left.op == rkernel::ExprOp::Index && left.axis == problem.lane_axis &&
         left.dtype == DType::i64 && right.op == rkernel::ExprOp::DimValue &&
         right.dtype == DType::i64;
}

std::vector<AxisSet> expr_axes(const rkernel::Problem& problem, const SlotTable& slots,
                               std::span<const StrideClass> lane_classes) {
  AxisSet parallel = 0;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    if (problem.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Parallel)
      parallel |= axis_bit(axis);
  std::vector<AxisSet> result;
  for (const rkernel::Expr& expr : problem.exprs) {
    AxisSet axes = 0;
    for (const int arg : expr.args)
      if (arg >= 0) axes |= result[static_cast<std::size_t>(arg)];
    if (expr.op == rkernel::ExprOp::Index) axes = axis_bit(expr.axis);
    if (expr.op == rkernel::ExprOp::Accumulator) axes = parallel;
    if (expr.op == rkernel::ExprOp::Load)
      axes |= operand_axes(problem, slots, expr.operand,
                           lane_classes[static_cast<std::size_t>(expr.operand)]);
    if (rkernel::is_reduction(expr.op)) axes &= parallel;
    result.push_back(axes);
  }
  return result;
}

}  // namespace dyn::codegen
