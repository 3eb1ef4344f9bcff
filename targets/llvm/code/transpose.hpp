#pragma once
// Transposes square blocks in registers.

#include <span>
#include <vector>

#include "targets/llvm/code/types.hpp"

namespace dyn::codegen {

/// The columns of L rows, each a vector of L elements: element j of result i is element i of
/// rows[j]. L is a power of two; elements are of 1, 2, 4 or 8 bytes. log2(L) stages of L shuffles
/// of two vectors each, which x86 has as single instructions.
std::vector<llvm::Value*> transpose(Builder& builder, std::span<llvm::Value* const> rows);

}  // namespace dyn::codegen
