#pragma once
// Values of any dtype in scratch, or in the memory that threads share.

#include "targets/cpu/loop/context.hpp"

namespace dyn::cpu {

/// An array of elements of LoopProblem::scratch_element_bytes: smaller ones are widened.
class ScratchArray {
 public:
  ScratchArray(const LoopContext& context, llvm::Value* memory)
      : context_(context), builder_(context.builder), memory_(memory) {}

  llvm::Value* address(llvm::Value* element) const;
  /// `width` elements of a dtype from `element` on; 1: a scalar.
  llvm::Value* load(DType dtype, llvm::Value* element, int width) const;
  void store(llvm::Value* value, llvm::Value* element) const;

 private:
  llvm::Type* unit() const;
  llvm::Align alignment() const;

  const LoopContext& context_;
  codegen::Builder& builder_;
  llvm::Value* memory_;
};

}  // namespace dyn::cpu
