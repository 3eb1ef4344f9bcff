#include "targets/llvm/problem/structure_key.hpp"

#include <fmt/format.h>

namespace dyn::codegen {
namespace {

char presence(int slot) { return slot == SlotTable::none ? '0' : 's'; }

std::string operand_key(const rkernel::Problem& problem, const SlotTable& slots, int index) {
  const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  std::string key =
      fmt::format("{}{}{}{}", name_of(operand.dtype), operand.written ? "w" : "r",
                  operand.form == rkernel::Form::Packed ? "p" : "", presence(slots.offset(index)));
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    key += presence(slots.stride(index, axis));
  if (operand.coding)
    key += fmt::format("c{}x{}{}{}", operand.coding.bits, operand.coding.block,
                       name_of(operand.coding.scale), operand.coding.zero_points ? "z" : "");
  for (int guard = 0; guard < static_cast<int>(operand.guards.size()); ++guard) {
    key += fmt::format("g{}{}", presence(slots.guard_low(index, guard)),
                       presence(slots.guard_high(index, guard)));
    const auto& terms = operand.guards[static_cast<std::size_t>(guard)].terms;
    for (std::size_t term = 0; term < terms.size(); ++term)
      key +=
          fmt::format("{}{}", terms[term].axis, presence(slots.guard_factor(index, guard, term)));
  }
  if (operand.window) {
    // What else decides how windows are copied is in the key of the function that copies them.
    for (const rkernel::WindowAxis& axis : operand.window->axes)
      key += fmt::format("w{}", axis.axis);
  }
  if (!operand.guards.empty())
    key += fmt::format("{}f{:a}", operand.absent_outside ? "a" : "", operand.fill);
  if (operand.gathers)
    key += operand.gather_panel > 1 ? fmt::format("i{}", operand.gather_panel) : "i";
  return key;
}

std::string activation_key(const graph::Activation& activation) {
  return fmt::format("{}({:a},{:a})", static_cast<int>(activation.function), activation.alpha,
                     activation.beta);
}

std::string recurrence_key(const rkernel::Recurrence& recurrence) {
  const rkernel::Cell& cell = recurrence.cell;
  const std::string quantised =
      recurrence.scales < 0
          ? ""
          : fmt::format(" {} scaled by {}", rkernel::Factors(recurrence.group).name(),
                        recurrence.scales);
  return fmt::format(" cell {} {} {} {} clip{:a} {}{}{} of {},{},{},{},{},{},{} to {},{},{}{}",
                     static_cast<int>(cell.kind), activation_key(cell.f), activation_key(cell.g),
                     activation_key(cell.h), cell.clip, int{cell.input_forget},
                     int{cell.linear_before_reset}, int{recurrence.reversed}, recurrence.gates,
                     recurrence.r, recurrence.bias, recurrence.lengths, recurrence.h, recurrence.c,
                     recurrence.peepholes, recurrence.y, recurrence.last_h, recurrence.last_c,
                     quantised);
}

}  // namespace

std::string structure_key(const rkernel::Problem& problem, const SlotTable& slots) {
  std::string key;
  for (const rkernel::Axis& axis : problem.axes)
    key += axis.kind == rkernel::AxisKind::Parallel ? 'P' : 'R';
  key += fmt::format(" lane{}", problem.lane_axis);
  if (problem.contraction) {
    const rkernel::Contraction& c = *problem.contraction;
    key += fmt::format(" contraction {},{},{},{},{}", c.a, c.b, c.m, c.n, c.k);
    if (c.group != rkernel::Group::None) key += " of " + rkernel::Factors(c.group).name();
    if (c.is_ragged()) key += " ragged";
    if (c.a_value >= 0) key += fmt::format(" a%{}", c.a_value);
    if (c.b_value >= 0) key += fmt::format(" b%{}", c.b_value);
    for (const int other : c.others) key += fmt::format(" and {}", other);
  }
  if (problem.attention) {
    const rkernel::Attention& a = *problem.attention;
    if (a.k_scales >= 0) key += fmt::format(" scales {},{}", a.k_scales, a.v_scales);
    key += fmt::format(" attention {},{},{},{},{},{},{},{},{}", a.q, a.k, a.v, a.mask, a.m, a.n,
                       a.keys, a.d, int{a.causal});
  }
  if (problem.recurrence) key += recurrence_key(*problem.recurrence);
  for (int i = 0; i < static_cast<int>(problem.operands.size()); ++i) {
    key += ' ';
    key += operand_key(problem, slots, i);
  }
  for (const rkernel::Expr& expr : problem.exprs) {
    key += fmt::format("; {} {} {},{},{}", name_of(expr.op), name_of(expr.dtype), expr.args[0],
                       expr.args[1], expr.args[2]);
    if (expr.op == rkernel::ExprOp::Constant)
      key += fmt::format(" {:a} {}", expr.number, expr.integer);
    if (expr.op == rkernel::ExprOp::Accumulator && expr.integer > 0)
      key += fmt::format(" {}", expr.integer);
    if (expr.operand >= 0) key += fmt::format(" o{}", expr.operand);
    if (expr.axis >= 0) key += fmt::format(" a{}", expr.axis);
  }
  for (const rkernel::Store& store : problem.stores)
    key += fmt::format("; store {} to {}", store.expr, store.operand);
  return key;
}

std::string class_letters(std::span<const StrideClass> classes) {
  std::string letters;
  for (const StrideClass stride_class : classes) letters += letter_of(stride_class);
  return letters;
}

}  // namespace dyn::codegen
