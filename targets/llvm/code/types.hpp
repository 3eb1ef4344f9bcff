#pragma once
// dtypes as LLVM types, in registers and in memory.

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::codegen {

using Builder = llvm::IRBuilder<>;

/// float, double, an integer of the dtype's bits (signs are the operators' business), or i1 for
/// boolean. Throws Error(unsupported) for dtypes without code generation.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
/// The same, but i8 for boolean; i16 for f16 and bf16, which registers hold as float (half.hpp).
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);

/// `element` for width 1, else <width x element>.
llvm::Type* lanes_of(llvm::Type* element, int width);
/// 1 for a scalar.
int width_of(llvm::Value* value);

/// `value` in every lane; a vector, or a scalar for width 1, stays as it is.
llvm::Value* broadcast(Builder& builder, llvm::Value* value, int width);
/// 0, 1, ..., width - 1.
llvm::Value* iota(Builder& builder, llvm::Type* element, int width);
/// True where one of the lanes is.
llvm::Value* any_lane(Builder& builder, llvm::Value* mask);

/// a and b, in as many lanes as the wider has; nullptr is true.
llvm::Value* both(Builder& builder, llvm::Value* a, llvm::Value* b);

/// a * b + c of floats; rounded once with `fma`.
llvm::Value* multiply_add(Builder& builder, bool fma, llvm::Value* a, llvm::Value* b,
                          llvm::Value* c);

/// The cache level into which a line is prefetched.
enum class CacheLevel : std::uint8_t { First, Second };
/// Prefetches the line at `pointer` for reading; an address that is not mapped does no harm.
void prefetch(Builder& builder, llvm::Value* pointer, CacheLevel to = CacheLevel::First);

}  // namespace dyn::codegen
