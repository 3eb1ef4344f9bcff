#include "targets/llvm/problem/slots.hpp"

#include <algorithm>

namespace dyn::codegen {

char letter_of(StrideClass stride_class) noexcept {
  constexpr char letters[] = {'0', '1', '2', '3', '4', '?'};
  return letters[static_cast<std::size_t>(stride_class)];
}

std::vector<StrideClass> possible_classes(graph::Dim stride) {
  if (!stride.valid()) return {StrideClass::Zero};
  graph::DimTable& table = stride.table();
  const auto zero = graph::prove_equal(stride, table.constant(0));
  const auto unit = graph::prove_equal(stride, table.constant(1));
  if (zero == true) return {StrideClass::Zero};
  if (unit == true) return {StrideClass::Unit};
  std::vector<StrideClass> classes;
  if (zero != false) classes.push_back(StrideClass::Zero);
  if (unit != false) classes.push_back(StrideClass::Unit);
  classes.push_back(StrideClass::Any);
  return classes;
}

StrideClass class_of(std::int64_t stride) noexcept {
  if (stride == 0) return StrideClass::Zero;
  return stride == 1 ? StrideClass::Unit : StrideClass::Any;
}

SlotTable::SlotTable(const rkernel::Problem& problem) : SlotTable(problem, 0, 0) {}

SlotTable::SlotTable(const rkernel::Problem& problem, std::size_t first_operands, int reserved,
                     std::span<const OperandAxis> any) {
  for (const rkernel::Axis& axis : problem.axes) extents_.push_back(add(axis.extent));
  if (problem.contraction && problem.contraction->is_ragged())
    depth_ = add(problem.contraction->depth);
  const int first = static_cast<int>(first_operands);
  for (int i = 0; i < first; ++i) add_operand(problem, i, any);
  first_reserved_ = size();
  for (int i = 0; i < reserved; ++i) add_strategy_slot();
  for (int i = first; i < static_cast<int>(problem.operands.size()); ++i)
    add_operand(problem, i, any);
  for (const rkernel::Expr& expr : problem.exprs)
    dim_values_.push_back(expr.op == rkernel::ExprOp::DimValue ? add(expr.dim) : none);
}

void SlotTable::add_operand(const rkernel::Problem& problem, int index,
                            std::span<const OperandAxis> any) {
  const rkernel::Operand& operand = problem.operands[static_cast<std::size_t>(index)];
  OperandSlots slots;
  // Few tensors begin elsewhere than their buffer does, but no code is worth a class for that.
  slots.offset = operand.offset.valid() ? add(operand.offset) : none;
  for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
    const graph::Dim stride = operand.strides[static_cast<std::size_t>(axis)];
    const bool is_kept =
        stride.valid() && std::ranges::find(any, OperandAxis{index, axis}) != any.end();
    slots.strides.push_back(is_kept ? add(stride) : add_unless_zero(stride));
  }
  for (const rkernel::Guard& guard : operand.guards)
    slots.guards.push_back(add_guard(problem, guard));
  if (operand.window) slots.window = add_window(*operand.window);
  if (operand.gathers) {
    slots.gather = add(operand.gather_extent);
    add(operand.gather_stride);
  }
  operands_.push_back(std::move(slots));
}

WindowSlots SlotTable::add_window(const rkernel::WindowRows& rows) {
  WindowSlots slots{{},
                    add(rows.channels),
                    add(rows.channel_step),
                    add(rows.channels.table().constant(rows.outside))};
  for (const rkernel::WindowAxis& axis : rows.axes) {
    WindowAxisSlots of{};
    of.count = add(axis.count);
    of.size = add(axis.size);
    of.stride = add(axis.stride);
    of.dilation = add(axis.dilation);
    of.before = add(axis.before);
    of.extent = add(axis.extent);
    of.step = add(axis.step);
    slots.axes.push_back(of);
  }
  return slots;
}

/// Factors are positive, so no sum is below 0, and the last indices give the greatest.
SlotTable::GuardSlots SlotTable::add_guard(const rkernel::Problem& problem,
                                           const rkernel::Guard& guard) {
  GuardSlots bounds;
  bounds.low = add_unless_zero(guard.low);
  graph::Dim end = guard.low.table().constant(1);
  for (const graph::CoordTerm& term : guard.terms)
    end = end + (problem.axes[static_cast<std::size_t>(term.axis)].extent - 1) * term.factor;
  if (graph::prove_less_equal(end, guard.high) != true) bounds.high = add(guard.high);
  for (const graph::CoordTerm& term : guard.terms)
    bounds.factors.push_back(term.factor.constant() == 1 ? none : add(term.factor));
  return bounds;
}

int SlotTable::add(graph::Dim dim) {
  program_slots_.push_back(program_.slot(dim));
  return size() - 1;
}

int SlotTable::add_unless_zero(graph::Dim dim) {
  return !dim.valid() || dim.constant() == 0 ? none : add(dim);
}

int SlotTable::add_strategy_slot() {
  program_slots_.push_back(none);
  return size() - 1;
}

std::vector<std::int64_t> SlotTable::evaluate(std::span<const std::int64_t> symbols) const {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(program_.size()));
  program_.run(symbols, steps);
  std::vector<std::int64_t> values;
  values.reserve(program_slots_.size());
  for (const int slot : program_slots_)
    values.push_back(slot == none ? 0 : steps[static_cast<std::size_t>(slot)]);
  return values;
}

}  // namespace dyn::codegen
