#include "targets/llvm/problem/instruction_counts.hpp"

#include <algorithm>

#include "targets/llvm/problem/variation.hpp"

namespace dyn::codegen {

using rkernel::ExprOp;

namespace {

double instructions_of(graph::ScalarOp op, const Approximations* approximations) {
  if (approximations != nullptr) {
    const auto found = std::ranges::find(approximations->functions, op, &ApproximateFunction::op);
    if (found != approximations->functions.end()) return found->instructions;
  }
  return graph::info_of(op).instructions;
}

double instructions_of(ExprOp op, const Approximations* approximations) {
  if (const std::optional<graph::ScalarOp> scalar = rkernel::scalar_op(op))
    return instructions_of(*scalar, approximations);
  switch (op) {
    case ExprOp::Constant:
    case ExprOp::DimValue:
    case ExprOp::Accumulator: return 0;
    case ExprOp::RoundF16: return 15;
    case ExprOp::RoundBf16: return 7;
    case ExprOp::ReduceMax: return graph::info_of(graph::ScalarOp::Max).instructions;
    case ExprOp::ReduceMin: return graph::info_of(graph::ScalarOp::Min).instructions;
    default: return 1;
  }
}

}  // namespace

double instructions_of(const rkernel::Problem& problem, const rkernel::Expr& expr,
                       StrideClass lane_class, const Approximations* approximations) {
  if (expr.op == ExprOp::Load) {
    const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(expr.operand)];
    const double direct = lane_class == StrideClass::Any || operand.gathers ? 12
                          : few_of(lane_class) > 0 ? 2 * few_of(lane_class) - 1
                                                   : 1;
    return direct + 3 * static_cast<double>(operand.guards.size());
  }
  const double count =
      instructions_of(expr.op, expr.dtype == DType::f32 ? approximations : nullptr);
  if (expr.dtype != DType::f64) return count;
  // Two vectors replace one of f32. libm takes lanes one by one.
  constexpr double call_of_lanes = 8;
  return count < graph::function_instructions ? 2 * count : call_of_lanes * count;
}

double instructions_of(const rkernel::Problem& problem, const SlotTable& slots,
                       std::span<const StrideClass> lane_classes,
                       const Approximations* approximations) {
  const auto varies = expr_axes(problem, slots, lane_classes);
  double sum = static_cast<double>(problem.stores.size());
  for (std::size_t i = 0; i < varies.size(); ++i) {
    const rkernel::Expr& expr = problem.exprs[i];
    if ((varies[i] & axis_bit(problem.lane_axis)) == 0 && !is_reduction(expr.op)) continue;
    sum += instructions_of(
        problem, expr,
        expr.operand < 0 ? StrideClass::Unit : lane_classes[static_cast<std::size_t>(expr.operand)],
        approximations);
  }
  return sum;
}

double bytes_of(const rkernel::Problem& problem, const SlotTable& slots,
                std::span<const StrideClass> lane_classes, std::span<const std::int64_t> ints,
                bool only_written) {
  double bytes = 0;
  for (std::size_t operand = 0; operand < problem.operands.size(); ++operand) {
    if (only_written && !problem.operands[operand].written) continue;
    const AxisSet axes =
        operand_axes(problem, slots, static_cast<int>(operand), lane_classes[operand]);
    double elements = 1;
    for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
      if ((axes & axis_bit(axis)) != 0)
        elements *= static_cast<double>(ints[static_cast<std::size_t>(slots.extent(axis))]);
    bytes += elements * static_cast<double>(size_of(problem.operands[operand].dtype));
  }
  return bytes;
}

}  // namespace dyn::codegen
