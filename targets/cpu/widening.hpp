#pragma once
// Elements of packed weights, on their way into registers of f32.

#include "targets/cpu/isa.hpp"
#include "targets/llvm/types.hpp"

namespace dyn::cpu {

/// Whether an ISA has instructions for weights in this dtype: f32, bf16, i8, and f16 where it can convert them.
bool can_widen(const Isa& isa, DType dtype);

/// `width` elements of `dtype` at `address`, as f32; i8 without its scale. The ISA must be able to.
llvm::Value* load_widened(codegen::Builder& builder, DType dtype, llvm::Value* address, int width);

/// The address of element `index`.
llvm::Value* element_of(codegen::Builder& builder, DType dtype, llvm::Value* base, llvm::Value* index);
/// Bytes of so many elements.
llvm::Value* bytes_of(codegen::Builder& builder, DType dtype, llvm::Value* elements);

}  // namespace dyn::cpu
