#pragma once
// Contractions of narrow elements, counted in groups.

#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Makes every contraction of u8 or i16 by packed i8, and of bf16 by packed f32, one of groups
/// (rkernel::Contraction::group): K, and A's offset and strides, count groups of four bytes from
/// here on. Both must be multiples of one, and A's elements contiguous along K; throws
/// Error(internal) where they are not. Recurrences of i8 multiply groups of what the CPU multiplies
/// most of at once; throws Error(unsupported) where their weights are not packed.
void group_factors(std::vector<rkernel::Problem>& problems, const codegen::Isa& isa);

}  // namespace dyn::cpu
