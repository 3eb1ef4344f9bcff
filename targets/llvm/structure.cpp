#include "targets/llvm/structure.hpp"

#include <fmt/format.h>

namespace dyn::codegen {

namespace {

std::string operand_text(const rkernel::Problem& problem, const SlotTable& slots, int index, StrideClass lane_class) {
  const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  const auto present = [](int slot) { return slot == SlotTable::none ? '0' : '?'; };
  std::string text = fmt::format("{}{}{} o{} s", operand.written ? "out " : "", name_of(operand.dtype),
                                 operand.form == rkernel::Form::Packed ? " packed" : "", present(slots.offset(index)));
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    text += present(slots.stride(index, axis));
  text += letter_of(lane_class);
  for (int guard = 0; guard < static_cast<int>(operand.guards.size()); ++guard)
    text += fmt::format(" g{}{}{}", operand.guards[static_cast<std::size_t>(guard)].axis,
                        present(slots.guard_low(index, guard)), present(slots.guard_high(index, guard)));
  if (!operand.guards.empty() || operand.gathers) text += fmt::format(" f{}", operand.fill);
  if (operand.gathers) text += " gathers";
  return text + ";";
}

std::string expr_text(const rkernel::Expr& expr) {
  using rkernel::ExprOp;
  std::string text = fmt::format("{} {}", name_of(expr.op), name_of(expr.dtype));
  if (expr.op == ExprOp::Constant) text += fmt::format(" {:a} {}", expr.number, expr.integer);
  if (expr.op == ExprOp::Index) text += fmt::format(" x{}", expr.axis);
  if (expr.op == ExprOp::Load) text += fmt::format(" #{}", expr.operand);
  for (const int arg : expr.args)
    if (arg >= 0) text += fmt::format(" {}", arg);
  return text + ";";
}

}  // namespace

std::string structure_text(const rkernel::Problem& problem, const SlotTable& slots,
                           std::span<const StrideClass> lane_classes) {
  std::string text;
  for (const rkernel::Axis& axis : problem.axes) text += axis.kind == rkernel::AxisKind::Parallel ? 'p' : 'r';
  text += fmt::format(" lanes {};", problem.lane_axis);
  if (problem.contraction) {
    const rkernel::Contraction& c = *problem.contraction;
    text += fmt::format("contraction {} {} {} {} {};", c.a, c.b, c.m, c.n, c.k);
  }
  for (std::size_t operand = 0; operand < problem.operands.size(); ++operand)
    text += operand_text(problem, slots, static_cast<int>(operand), lane_classes[operand]);
  for (const rkernel::Expr& expr : problem.exprs) text += expr_text(expr);
  for (const rkernel::Store& store : problem.stores) text += fmt::format("store {} #{};", store.expr, store.operand);
  return text;
}

}  // namespace dyn::codegen
