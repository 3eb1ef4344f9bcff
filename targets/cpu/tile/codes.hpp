#pragma once
// Codes of 4 bits as numbers.

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// The number that code `index` (i64) of each word stands for: a vector of f32. Words hold codes of
/// i4 from their lowest bits on.
llvm::Value* numbers_of_codes(codegen::Builder& builder, const codegen::Isa& isa,
                              llvm::Value* words, llvm::Value* index);

}  // namespace dyn::cpu
