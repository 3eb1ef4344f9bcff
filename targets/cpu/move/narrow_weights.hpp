#pragma once
// Packed weights in fewer bytes.

#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Keeps what contractions and gathers read in panels in `dtype` (f32, bf16, f16 or i8), alike in
/// all problems; unless `dtype` is i8, weights that 16 bits hold as they are stay in those
/// (Operand::held), where `isa` can widen them. With i8 the accumulator is multiplied by the scale
/// of its column, an operand of Form::Scales; panels that are gathered from are bf16 then, as a
/// gather knows no scales. To be called when operands have been marked as packed.
void narrow_weights(std::vector<rkernel::Problem>& problems, DType dtype, const codegen::Isa& isa);

}  // namespace dyn::cpu
