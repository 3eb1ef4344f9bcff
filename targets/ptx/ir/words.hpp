#pragma once
// Words and addresses of a kernel in IR.

#include <cstdint>
#include <functional>

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

inline llvm::ConstantInt* number(codegen::Builder& builder, int value) {
  return builder.getInt32(static_cast<std::uint32_t>(value));
}

inline llvm::Value* at_byte(codegen::Builder& builder, llvm::Value* base, llvm::Value* bytes) {
  return builder.CreateGEP(builder.getInt8Ty(), base, bytes);
}

/// The smaller, or the larger, of two signed integers.
llvm::Value* smaller(codegen::Builder& builder, llvm::Value* a, llvm::Value* b);
llvm::Value* larger(codegen::Builder& builder, llvm::Value* a, llvm::Value* b);

/// How many bits of an integer are 1.
llvm::Value* ones(codegen::Builder& builder, llvm::Value* word);

/// The low word of a slot of `ints`, i32. It is loaded where it is asked for: a number that only
/// tickets need takes no register in their loops.
llvm::Value* load_word(codegen::Builder& builder, llvm::Value* ints, int slot);

/// Changes a value of any register type by its 32-bit words: change(word, its number, the lower
/// one first).
llvm::Value* word_by_word(codegen::Builder& builder, llvm::Value* value,
                          const std::function<llvm::Value*(llvm::Value*, int)>& change);

/// The value of the lane with this number, an i32 from 0 to 31. All lanes of the warp take part.
llvm::Value* of_lane(codegen::Builder& builder, llvm::Value* value, llvm::Value* lane);

}  // namespace dyn::ptx
