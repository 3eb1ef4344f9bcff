#pragma once
// Contractions of narrow elements, counted in groups.

#include <vector>

#include "src/rkernel/problem/factors.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Makes every contraction of u8 or i16 by packed i8 or codes, and of bf16 by packed f32 or codes,
/// one of groups (rkernel::Contraction::group): K, and A's offset and strides, count groups of four
/// bytes from here on. Both must be multiples of one, and A's elements contiguous along K; throws
/// Error(internal) where they are not. `weights`: how packed f32 is kept, in codes or not.
/// Recurrences of i8 multiply groups of what the CPU multiplies most of at once; throws
/// Error(unsupported) where their weights are not packed.
void group_factors(std::vector<rkernel::Problem>& problems, const rkernel::Factors& weights,
                   const codegen::Isa& isa);

}  // namespace dyn::cpu
