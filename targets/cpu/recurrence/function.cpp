#include "targets/cpu/recurrence/function.hpp"

#include <llvm/IR/Module.h>

#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

namespace {

std::vector<Value*> load_sizes(const rkernel::Problem& problem, const codegen::SlotTable& slots,
                               codegen::Operands& operands) {
  std::vector<Value*> sizes;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    sizes.push_back(operands.slot(slots.extent(axis)));
  return sizes;
}

}  // namespace

RecurrenceFunction::RecurrenceFunction(llvm::Module& module, const std::string& symbol,
                                       const rkernel::Problem& source, const codegen::Isa& isa,
                                       const codegen::SlotTable& slot_table,
                                       const RecurrenceSlots& strategy_slots,
                                       const RecurrenceClass& made_for)
    : builder(module.getContext()),
      code(builder, isa),
      problem(source),
      recurrence(*source.recurrence),
      slots(slot_table),
      strategy(strategy_slots),
      shape_class(made_for),
      gates(rkernel::gates_of(recurrence.cell.kind)),
      math(builder, {.fma = isa.fma, .scalef = isa.f32_lanes == 16}),
      function(create_kernel_function(builder, module, symbol, isa)),
      args(codegen::load_kernel_args(builder, function->getArg(0))),
      scratch(function->getArg(3)),
      shared(codegen::load_shared_memory(builder, function->getArg(0))),
      operands(builder, problem, slots, shape_class.lanes, args, isa.f32_lanes),
      extents(load_sizes(problem, slots, operands)),
      row_stride(builder.CreateAdd(code.round_up(extent(recurrence.n), isa.f32_lanes),
                                   number(state_row(isa, 0)))) {}

Value* RecurrenceFunction::memory_at(int byte_offset_slot) {
  return builder.CreateGEP(builder.getInt8Ty(), memory, operands.slot(byte_offset_slot));
}

Value* RecurrenceFunction::state(Value* states, Value* row, Value* column) {
  return code.element(states, builder.CreateAdd(builder.CreateMul(row, row_stride), column));
}

void RecurrenceFunction::at(int axis, Value* index, const std::function<void()>& body) {
  operands.set_index(axis, index);
  operands.enter(0);
  body();
  operands.leave();
  operands.set_index(axis, nullptr);
}

void RecurrenceFunction::for_each_row(Value* count, const char* name,
                                      const std::function<void(Value*)>& body) {
  CountedLoop rows(builder, number(0), count, number(1), name);
  at(recurrence.b, builder.CreateAdd(first_row, rows.index()), [&] { body(rows.index()); });
  rows.close();
}

void RecurrenceFunction::for_each_columns(const ColumnRange& range, int vectors,
                                          const std::function<void(const Columns&)>& body) {
  // Ranges begin with a panel, and end with one where there are whole panels alone.
  const bool whole_panels = shape_class.whole_panels;
  Value* whole = whole_panels ? range.end : code.round_down(range.end, code.lanes());
  Value* step = number(std::int64_t{vectors} * code.lanes());
  Value* count = builder.CreateUDiv(builder.CreateSub(whole, range.begin), step);
  Value* together = builder.CreateAdd(range.begin, builder.CreateMul(count, step));
  const auto loop = [&](Value* begin, Value* end, int several, const char* name) {
    CountedLoop columns(builder, begin, end, number(std::int64_t{several} * code.lanes()), name);
    body({columns.index(), several});
    columns.close();
  };
  loop(range.begin, together, vectors, "columns");
  if (vectors > 1 && !(whole_panels && vectors * code.lanes() <= code.isa().panel_f32))
    loop(together, whole, 1, "vector");
  // Only the last column of all may end within a vector.
  if (whole_panels) return;
  Conditional rest(builder, builder.CreateICmpSLT(whole, range.end), "last_columns");
  body({whole, 1, code.first_lanes(builder.CreateSub(range.end, whole))});
  rest.close();
}

void RecurrenceFunction::for_each_vector(const Columns& columns,
                                         const std::function<void(Value*)>& body) {
  const auto visit = [&](Value* column) {
    operands.set_index(recurrence.n, column);
    operands.set_mask(columns.mask);
    body(column);
    operands.set_mask(nullptr);
    operands.set_index(recurrence.n, nullptr);
  };
  if (columns.vectors == 1) return visit(columns.first);
  CountedLoop vectors(builder, number(0), number(columns.vectors * code.lanes()),
                      number(code.lanes()), "of_columns");
  visit(builder.CreateAdd(columns.first, vectors.index()));
  vectors.close();
}

Value* RecurrenceFunction::load(int operand) {
  return operand < 0 ? code.splat(0.0) : operands.load(operand, nullptr, true);
}

}  // namespace dyn::cpu
