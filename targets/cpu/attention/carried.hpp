#pragma once
// What a ticket of attention carries from one block of keys to the next for each of its rows: the
// maximum, the sum and the accumulator, in scratch.

#include "targets/cpu/attention/ticket.hpp"

namespace dyn::cpu {

/// Rows are counted in the ticket's block.
class CarriedRows {
 public:
  CarriedRows(AttentionFunction& function, const AttentionSizes& sizes)
      : function_(function), builder_(function.builder), code_(function.code), sizes_(sizes) {}

  llvm::Value* maximum_of(llvm::Value* row) const;
  llvm::Value* sum_of(llvm::Value* row) const;
  llvm::Value* accumulator_of(llvm::Value* row) const;

  /// Before the first block of keys.
  void clear(const AttentionTicket& ticket) const;
  /// Behind the last one: the result, or where keys are split, the part's.
  void finish(const AttentionTicket& ticket) const;

 private:
  void store_result(llvm::Value* in_block, llvm::Value* row, llvm::Value* accumulator) const;
  void store_partial(llvm::Value* in_block, llvm::Value* accumulator, llvm::Value* to) const;

  AttentionFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  const AttentionSizes& sizes_;
};

}  // namespace dyn::cpu
