#pragma once
// Packed weights in fewer bytes.

#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Keeps what contractions and gathers read in panels as `weights` (f32, bf16, f16, i8, or codes),
/// alike in all problems; but for i8 and codes, weights that 16 bits hold as they are stay in those
/// (Operand::held), where `isa` can widen them. With i8 the accumulator is multiplied by the scale
/// of its column, an operand of Form::Scales. Panels that are gathered from are bf16 with i8 and
/// codes, as a gather knows no scales, and so are those of recurrences. To be called when operands
/// have been marked as packed.
void narrow_weights(std::vector<rkernel::Problem>& problems, const rkernel::Factors& weights,
                    const codegen::Isa& isa);

/// Gives a packed operand of f32 its coding: that of the codes that it holds, where panels can take
/// them as they lie, else that of `weights`, which may be none.
void choose_codes(const rkernel::Problem& problem, rkernel::Operand& operand,
                  const rkernel::Factors& weights, const codegen::Isa& isa);

/// The accumulators of a contraction that counts from Contraction::zero, whose tiles do not: less
/// that times the sum of their column, an operand of Form::Scales (PackedLayout::sums).
void subtract_zeros(rkernel::Problem& problem);

}  // namespace dyn::cpu
