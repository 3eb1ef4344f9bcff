#include "targets/cpu/attention/function.hpp"

#include "targets/cpu/tile/widening.hpp"

#include <llvm/IR/Module.h>

#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {

namespace {

std::vector<llvm::Value*> load_extents(const rkernel::Problem& problem,
                                       const codegen::SlotTable& slots,
                                       codegen::Operands& operands) {
  std::vector<llvm::Value*> extents;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis)
    extents.push_back(operands.slot(slots.extent(axis)));
  return extents;
}

}  // namespace

AttentionFunction::AttentionFunction(llvm::Module& module, const std::string& symbol,
                                     const rkernel::RKernel& source, const codegen::Isa& isa,
                                     const codegen::SlotTable& slot_table,
                                     const AttentionSlots& strategy_slots,
                                     const AttentionClass& made_for)
    : builder(module.getContext()),
      code(builder, isa),
      kernel(source),
      problem(*source.problem),
      attention(*problem.attention),
      slots(slot_table),
      strategy(strategy_slots),
      shape_class(made_for),
      math(builder, {.fma = isa.fma}),
      function(create_kernel_function(builder, module, symbol, isa)),
      args(codegen::load_kernel_args(builder, function->getArg(0))),
      scratch(function->getArg(3)),
      shared(codegen::load_shared_memory(builder, function->getArg(0))),
      operands(builder, problem, slots, shape_class.lanes, args, isa.f32_lanes),
      compiler(builder, problem, operands, codegen::MathOptions{.fma = isa.fma}),
      extents(load_extents(problem, slots, operands)) {}

llvm::Value* AttentionFunction::scratch_at(int byte_offset_slot) {
  return builder.CreateGEP(builder.getInt8Ty(), scratch, slot(byte_offset_slot));
}

AttentionFunction::Digit AttentionFunction::take(llvm::Value* ticket, llvm::Value* trips) {
  llvm::Value* index = builder.CreateURem(ticket, trips);
  return {index, builder.CreateUDiv(ticket, trips)};
}

AttentionBatch AttentionFunction::locate_batch(llvm::Value* batch) {
  AttentionBatch located{batch, std::vector<llvm::Value*>(static_cast<std::size_t>(attention.m))};
  llvm::Value* left = batch;
  for (int axis = attention.m; axis-- > 0;) {
    const Digit digit = take(left, extent(axis));
    located.along[static_cast<std::size_t>(axis)] = digit.index;
    operands.set_index(axis, digit.index);
    left = digit.left;
  }
  return located;
}

llvm::Value* AttentionFunction::batch_base(const AttentionBatch& batch, int operand) {
  llvm::Type* pointer = builder.getPtrTy();
  llvm::Value* field = builder.CreateConstInBoundsGEP1_64(pointer, args.pointers,
                                                          static_cast<std::uint64_t>(operand));
  llvm::Value* base = builder.CreateAlignedLoad(pointer, field, llvm::Align(8));
  llvm::Value* offset = slot(slots.offset(operand));
  for (int axis = 0; axis < attention.m; ++axis) {
    llvm::Value* term =
        builder.CreateMul(batch.along[static_cast<std::size_t>(axis)], stride(operand, axis));
    offset = builder.CreateAdd(offset, term);
  }
  return element_of(builder, dtype_of(operand), base, offset);
}

llvm::Value* AttentionFunction::record(llvm::Value* batch, llvm::Value* row, llvm::Value* part) {
  llvm::Value* rows = builder.CreateAdd(builder.CreateMul(batch, extent(attention.m)), row);
  llvm::Value* index = builder.CreateAdd(builder.CreateMul(rows, slot(strategy.splits)), part);
  return code.element(shared, builder.CreateMul(index, slot(strategy.record)));
}

void AttentionFunction::store_row(
    llvm::Value* row, const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& value) {
  std::vector<int> roots;
  for (const rkernel::Store& store : problem.stores) roots.push_back(store.expr);
  operands.set_index(attention.m, row);
  compiler.enter(codegen::axis_bit(attention.n), roots);
  code.for_each_vector(extent(attention.n), "result", [&](llvm::Value* column, llvm::Value* mask) {
    operands.set_index(attention.n, column);
    operands.set_mask(mask);
    compiler.enter(0);
    compiler.bind_accumulator(value(column, mask));
    for (const rkernel::Store& store : problem.stores) compiler.store(store);
    compiler.leave();
    operands.set_mask(nullptr);
  });
  compiler.leave();
}

}  // namespace dyn::cpu
