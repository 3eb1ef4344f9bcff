#include "targets/llvm/problem/instruction_counts.hpp"

#include <map>

#include "targets/llvm/problem/variation.hpp"

namespace dyn::codegen {

using rkernel::ExprOp;

double instructions_of(const rkernel::Problem& problem, const rkernel::Expr& expr, StrideClass lane_class) {
  static const std::map<ExprOp, double> table = {
      {ExprOp::Constant, 0}, {ExprOp::DimValue, 0}, {ExprOp::Accumulator, 0}, {ExprOp::Exp, 20},  {ExprOp::Log, 22},
      {ExprOp::Tanh, 30},    {ExprOp::Erf, 34},     {ExprOp::Sigmoid, 26},    {ExprOp::Sqrt, 5},  {ExprOp::Rsqrt, 10},
      {ExprOp::Div, 5},      {ExprOp::Reciprocal, 5}, {ExprOp::Sin, 80},      {ExprOp::Cos, 80},
      {ExprOp::Tan, 90},     {ExprOp::Asin, 70},    {ExprOp::Acos, 70},      {ExprOp::Atan, 60},   {ExprOp::Sinh, 60},
      {ExprOp::Cosh, 50},    {ExprOp::Asinh, 70},   {ExprOp::Acosh, 70},     {ExprOp::Atanh, 60},
      {ExprOp::Pow, 90},     {ExprOp::RoundF16, 15}, {ExprOp::RoundBf16, 7},
      {ExprOp::Mod, 120},    {ExprOp::Max, 3},      {ExprOp::Min, 3},         {ExprOp::ReduceMax, 3}, {ExprOp::ReduceMin, 3}};
  if (expr.op == ExprOp::Load) {
    const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(expr.operand)];
    const double direct = lane_class == StrideClass::Any || operand.gathers ? 12 : 1;
    return direct + 3 * static_cast<double>(operand.guards.size());
  }
  const auto found = table.find(expr.op);
  const double count = found == table.end() ? 1 : found->second;
  if (expr.dtype != DType::f64) return count;
  // Two vectors for one of f32. libm takes lanes one by one.
  constexpr double functions_from = 20, call_of_lanes = 8;
  return count < functions_from ? 2 * count : call_of_lanes * count;
}

double instructions_of(const rkernel::Problem& problem, const SlotTable& slots, std::span<const StrideClass> lane_classes) {
  const auto varies = expr_axes(problem, slots, lane_classes);
  double sum = static_cast<double>(problem.stores.size());
  for (std::size_t i = 0; i < varies.size(); ++i) {
    const rkernel::Expr& expr = problem.exprs[i];
    if ((varies[i] & axis_bit(problem.lane_axis)) == 0 && !is_reduction(expr.op)) continue;
    sum += instructions_of(problem, expr, expr.operand < 0 ? StrideClass::Unit : lane_classes[static_cast<std::size_t>(expr.operand)]);
  }
  return sum;
}

double bytes_of(const rkernel::Problem& problem, const SlotTable& slots, std::span<const StrideClass> lane_classes,
                std::span<const std::int64_t> ints, bool only_written) {
  double bytes = 0;
  for (std::size_t operand = 0; operand < problem.operands.size(); ++operand) {
    if (only_written && !problem.operands[operand].written) continue;
    const AxisSet axes = operand_axes(problem, slots, static_cast<int>(operand), lane_classes[operand]);
    double elements = 1;
    for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
      if ((axes & axis_bit(axis)) != 0) elements *= static_cast<double>(ints[static_cast<std::size_t>(slots.extent(axis))]);
    bytes += elements * static_cast<double>(size_of(problem.operands[operand].dtype));
  }
  return bytes;
}

}  // namespace dyn::codegen
