#pragma once
// Codes of 4 and 8 bits as numbers.

#include "src/rkernel/problem/factors.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// The number that code `index` (i64) of each word stands for: a vector of f32. Words hold codes of
/// i4 or i8, of `bits`, from their lowest bits on.
llvm::Value* numbers_of_codes(codegen::Builder& builder, const codegen::Isa& isa, int bits,
                              llvm::Value* words, llvm::Value* index);

/// Zero points of columns, f32, as group_of_codes() takes them.
llvm::Value* zeros_of_group(codegen::Builder& builder, const codegen::Isa& isa,
                            rkernel::Group group, llvm::Value* numbers);

/// Group `index` (i64) of each word as the elements that the factors' group multiplies, less the
/// zero point of its column: a vector of i32, one for each group. `zeros`: nullptr where there are
/// none, as there are for bytes of 8 bits.
llvm::Value* group_of_codes(codegen::Builder& builder, const codegen::Isa& isa,
                            const rkernel::Factors& factors, llvm::Value* words, llvm::Value* index,
                            llvm::Value* zeros);

}  // namespace dyn::cpu
