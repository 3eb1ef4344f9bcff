#pragma once
// Divisions of indices by extents that a launch knows, without division instructions.

#include <cstdint>

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

/// A divisor d >= 1 for indices below 2^(bits - 1): Granlund and Montgomery, "Division by Invariant
/// Integers using Multiplication" (1994), figure 4.1. With l = ceil(log2 d), the multiplier is
/// floor(2^bits * (2^l - d) / d) + 1, and the quotient of n is (high half of multiplier * n, plus
/// n) >> l: this sum has no carry, since n leaves one bit free.
struct Divider {
  std::uint64_t multiplier = 0;
  int shift = 0;  ///< l
};
/// `bits`: 32 or 64. A divisor of 0 gives one that nobody may use.
Divider divider_of(std::int64_t divisor, int bits);

/// Emits the quotient of n, an i32 or i64; the multiplier and the shift are of its type.
llvm::Value* divided(codegen::Builder& builder, llvm::Value* n, llvm::Value* multiplier,
                     llvm::Value* shift);

}  // namespace dyn::ptx
