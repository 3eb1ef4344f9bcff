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

}  // namespace dyn::cpu
