#include "targets/cpu/instruction_counts.hpp"

#include <map>

namespace dyn::cpu {

using rkernel::ExprOp;

double instructions_of(const rkernel::Problem& problem, const rkernel::Expr& expr, codegen::StrideClass lane_class) {
  static const std::map<ExprOp, double> table = {
      {ExprOp::Constant, 0}, {ExprOp::DimValue, 0}, {ExprOp::Accumulator, 0}, {ExprOp::Exp, 20},  {ExprOp::Log, 22},
      {ExprOp::Tanh, 30},    {ExprOp::Erf, 34},     {ExprOp::Sigmoid, 26},    {ExprOp::Sqrt, 5},  {ExprOp::Rsqrt, 10},
      {ExprOp::Div, 5},      {ExprOp::Reciprocal, 5}, {ExprOp::Sin, 80},      {ExprOp::Cos, 80},  {ExprOp::Pow, 90},
      {ExprOp::Mod, 120},    {ExprOp::Max, 3},      {ExprOp::Min, 3},         {ExprOp::ReduceMax, 3}, {ExprOp::ReduceMin, 3}};
  if (expr.op == ExprOp::Load) {
    const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(expr.operand)];
    const double direct = lane_class == codegen::StrideClass::Any || operand.gathers ? 12 : 1;
    return direct + 3 * static_cast<double>(operand.guards.size());
  }
  const auto found = table.find(expr.op);
  return found == table.end() ? 1 : found->second;
}

}  // namespace dyn::cpu
