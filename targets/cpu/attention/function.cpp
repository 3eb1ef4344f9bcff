#include "targets/cpu/attention/function.hpp"

#include <llvm/IR/Module.h>

#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;

AttentionFunction::AttentionFunction(llvm::Module& module, const std::string& symbol,
                                     const rkernel::RKernel& kernel, const codegen::Isa& isa,
                                     const codegen::SlotTable& slots,
                                     const AttentionSlots& strategy,
                                     const AttentionClass& shape_class)
    : builder_(module.getContext()),
      code_(builder_, isa),
      kernel_(kernel),
      problem_(*kernel.problem),
      attention_(*problem_.attention),
      slots_(slots),
      strategy_(strategy),
      class_(shape_class),
      math_(builder_, {.fma = isa.fma}) {
  function_ = create_kernel_function(builder_, module, symbol);
  args_ = codegen::load_kernel_args(builder_, function_->getArg(0));
  shared_ = codegen::load_shared_memory(builder_, function_->getArg(0));
  operands_.emplace(builder_, problem_, slots_, class_.lanes, args_, isa.f32_lanes);
  compiler_.emplace(builder_, problem_, *operands_, codegen::MathOptions{.fma = isa.fma});
  for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis)
    extents_.push_back(slot(slots_.extent(axis)));
}

llvm::Value* AttentionFunction::scratch(int byte_offset_slot) {
  return builder_.CreateGEP(builder_.getInt8Ty(), function_->getArg(3), slot(byte_offset_slot));
}

llvm::Value* AttentionFunction::take(llvm::Value*& ticket, llvm::Value* trips) {
  llvm::Value* index = builder_.CreateURem(ticket, trips);
  ticket = builder_.CreateUDiv(ticket, trips);
  return index;
}

void AttentionFunction::locate_batch(llvm::Value* batch) {
  batch_index_.assign(static_cast<std::size_t>(attention_.m), nullptr);
  for (int axis = attention_.m; axis-- > 0;) {
    batch_index_[static_cast<std::size_t>(axis)] = take(batch, extent(axis));
    operands_->set_index(axis, batch_index_[static_cast<std::size_t>(axis)]);
  }
}

llvm::Value* AttentionFunction::batch_base(int operand) {
  llvm::Type* pointer = builder_.getPtrTy();
  llvm::Value* field = builder_.CreateConstInBoundsGEP1_64(pointer, args_.pointers,
                                                           static_cast<std::uint64_t>(operand));
  llvm::Value* base = builder_.CreateAlignedLoad(pointer, field, llvm::Align(8));
  llvm::Value* offset = slot(slots_.offset(operand));
  for (int axis = 0; axis < attention_.m; ++axis) {
    offset = builder_.CreateAdd(
        offset,
        builder_.CreateMul(batch_index_[static_cast<std::size_t>(axis)], stride(operand, axis)));
  }
  return code_.element(base, offset);
}

llvm::Value* AttentionFunction::record(llvm::Value* batch, llvm::Value* row, llvm::Value* part) {
  llvm::Value* rows = builder_.CreateAdd(builder_.CreateMul(batch, extent(attention_.m)), row);
  llvm::Value* index = builder_.CreateAdd(builder_.CreateMul(rows, slot(strategy_.splits)), part);
  return code_.element(shared_, builder_.CreateMul(index, slot(strategy_.record)));
}

void AttentionFunction::store_row(
    llvm::Value* row, const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& value) {
  std::vector<int> roots;
  for (const rkernel::Store& store : problem_.stores) roots.push_back(store.expr);
  operands_->set_index(attention_.m, row);
  compiler_->enter(codegen::axis_bit(attention_.n), roots);
  code_.for_each_vector(extent(attention_.n), "result",
                        [&](llvm::Value* column, llvm::Value* mask) {
                          operands_->set_index(attention_.n, column);
                          operands_->set_mask(mask);
                          compiler_->enter(0);
                          compiler_->bind_accumulator(value(column, mask));
                          for (const rkernel::Store& store : problem_.stores)
                            compiler_->store(store);
                          compiler_->leave();
                          operands_->set_mask(nullptr);
                        });
  compiler_->leave();
}

}  // namespace dyn::cpu
