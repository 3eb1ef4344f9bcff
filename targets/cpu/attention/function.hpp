#pragma once
// What the two kernels of attention have in common: their arguments, tickets, and how rows of the
// result are stored.

#include <map>
#include <optional>

#include "targets/cpu/attention/emitter.hpp"
#include "targets/cpu/x86/vector_code.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"

namespace dyn::cpu {

class AttentionFunction {
 public:
  AttentionFunction(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel,
                    const codegen::Isa& isa, const codegen::SlotTable& slots,
                    const AttentionSlots& strategy, const AttentionClass& shape_class);

 protected:
  llvm::ConstantInt* number(std::int64_t value) { return code_.number(value); }
  llvm::Value* slot(int index) {
    return index == codegen::SlotTable::none ? number(0) : operands_->slot(index);
  }
  llvm::Value* extent(int axis) { return extents_[static_cast<std::size_t>(axis)]; }
  llvm::Value* stride(int operand, int axis) { return slot(slots_.stride(operand, axis)); }
  llvm::Value* scratch(int byte_offset_slot);
  codegen::Part part(llvm::Value* value, llvm::Value* parts, llvm::Value* index) {
    return codegen::equal_part(builder_, value, parts, index);
  }

  /// Splits a ticket into indices of these loops, the last running fastest; returns what is left:
  /// the index of the batch.
  llvm::Value* take(llvm::Value*& ticket, llvm::Value* trips);
  /// The index of each batch axis, for operands too.
  void locate_batch(llvm::Value* batch);
  /// Element (batch, 0, 0) of an operand.
  llvm::Value* batch_base(int operand);
  /// Address of a row's partial result of one part.
  llvm::Value* record(llvm::Value* batch, llvm::Value* row, llvm::Value* part);

  /// Stores row `row` of the result: `value(column, mask)` is the accumulator's vector at a column.
  void store_row(llvm::Value* row,
                 const std::function<llvm::Value*(llvm::Value* column, llvm::Value* mask)>& value);

  codegen::Builder builder_;
  VectorCode code_;
  const rkernel::RKernel& kernel_;
  const rkernel::Problem& problem_;
  const rkernel::Attention& attention_;
  const codegen::SlotTable& slots_;
  const AttentionSlots& strategy_;
  const AttentionClass& class_;
  codegen::Math math_;
  llvm::Function* function_ = nullptr;
  codegen::KernelArgsValues args_;
  llvm::Value* shared_ = nullptr;
  std::optional<codegen::Operands> operands_;
  std::optional<codegen::ExprCompiler> compiler_;
  std::vector<llvm::Value*> extents_, batch_index_;
};

}  // namespace dyn::cpu
