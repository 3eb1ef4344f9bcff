#pragma once
// Elements of packed weights, on their way into registers of f32.

#include "src/rkernel/problem/factors.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// `width` elements of `dtype` at `address`, as f32; i8 without its scale. The ISA must be able to
/// (can_widen). `mask`: 0 stands for elements where it is false, which are not read; nullptr: all
/// are.
llvm::Value* load_widened(codegen::Builder& builder, DType dtype, llvm::Value* address, int width,
                          llvm::Value* mask = nullptr);

/// The address of element `index`.
llvm::Value* element_of(codegen::Builder& builder, DType dtype, llvm::Value* base,
                        llvm::Value* index);
/// Bytes of so many elements.
llvm::Value* bytes_of(codegen::Builder& builder, DType dtype, llvm::Value* elements);

/// The same for the right side of a contraction: of a group or a step of K. Codes are counted in
/// whole blocks.
llvm::Value* element_of(codegen::Builder& builder, const rkernel::Factors& factors,
                        llvm::Value* base, llvm::Value* index);
llvm::Value* bytes_of(codegen::Builder& builder, const rkernel::Factors& factors,
                      llvm::Value* elements);

}  // namespace dyn::cpu
