#pragma once
// What the two kernels of attention have in common: their arguments, tickets, and how rows of the
// result are stored.

#include <functional>
#include <string>
#include <vector>

#include "targets/cpu/attention/emitter.hpp"
#include "targets/cpu/x86/vector_code.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"

namespace dyn::cpu {

/// The index of a batch, as one number and along each batch axis.
struct AttentionBatch {
  llvm::Value* index;
  std::vector<llvm::Value*> along;
};

/// A function while it is written: the builder stands where the next instruction goes.
struct AttentionFunction {
  AttentionFunction(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& source,
                    const codegen::Isa& isa, const codegen::SlotTable& slot_table,
                    const AttentionSlots& strategy_slots, const AttentionClass& made_for);

  llvm::ConstantInt* number(std::int64_t value) { return code.number(value); }
  llvm::Value* slot(int index) {
    return index == codegen::SlotTable::none ? number(0) : operands.slot(index);
  }
  llvm::Value* extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
  llvm::Value* stride(int operand, int axis) { return slot(slots.stride(operand, axis)); }
  /// The place in scratch whose offset a slot has.
  llvm::Value* scratch_at(int byte_offset_slot);
  codegen::Part part(llvm::Value* value, llvm::Value* parts, llvm::Value* index) {
    return codegen::equal_part(builder, value, parts, index);
  }

  /// The index of the loop that runs fastest among those of a ticket, and what is left of the
  /// ticket for the others.
  struct Digit {
    llvm::Value *index, *left;
  };
  Digit take(llvm::Value* ticket, llvm::Value* trips);
  /// Sets the index of each batch axis for the operands.
  AttentionBatch locate_batch(llvm::Value* batch);
  DType dtype_of(int operand) const {
    return problem.operands[static_cast<std::size_t>(operand)].dtype;
  }
  /// Element (batch, 0, 0) of an operand.
  llvm::Value* batch_base(const AttentionBatch& batch, int operand);
  /// Address of a row's partial result of one part.
  llvm::Value* record(llvm::Value* batch, llvm::Value* row, llvm::Value* part);

  /// Stores row `row` of the result: `value(column, mask)` is the accumulator's vector at a column.
  void store_row(llvm::Value* row,
                 const std::function<llvm::Value*(llvm::Value* column, llvm::Value* mask)>& value);

  codegen::Builder builder;
  VectorCode code;
  const rkernel::RKernel& kernel;
  const rkernel::Problem& problem;
  const rkernel::Attention& attention;
  const codegen::SlotTable& slots;
  const AttentionSlots& strategy;
  const AttentionClass& shape_class;
  codegen::Math math;
  llvm::Function* const function;
  const codegen::KernelArgsValues args;
  llvm::Value* const scratch;  ///< memory of the thread that runs the ticket
  llvm::Value* const shared;   ///< memory of partial results
  codegen::Operands operands;
  codegen::ExprCompiler compiler;
  const std::vector<llvm::Value*> extents;
};

}  // namespace dyn::cpu
