#pragma once
// Finds the buffers that can be kept in f16 or bf16, to save memory traffic.

#include <functional>
#include <vector>

#include "src/rkernel/target/target.hpp"

namespace dyn::rkernel {

/// True where the kernel of problem number `problem` reads or writes an operand of it in that
/// precision as well as in f32.
using TakesNarrow = std::function<bool(std::size_t problem, int operand)>;

/// Narrows f32 operands to `precision`, alike in all problems: constant factors of contractions,
/// and buffers that are neither constant nor ports. A buffer qualifies only if all kernels that
/// touch it take it so, and if it is f32 wherever it is used.
void narrow_buffers(std::vector<Problem>& problems, const TakesNarrow& takes,
                    const BufferFacts& buffers, DType precision);

}  // namespace dyn::rkernel
