#pragma once
// Finds the buffers that can be kept in f16 or bf16, to save memory traffic.

#include <vector>

#include "src/rkernel/target/target.hpp"

namespace dyn::ptx {

/// Narrows f32 operands to `precision`, alike in all problems: constant factors of contractions,
/// and buffers that are neither constant nor ports. A buffer qualifies only if no problem but the
/// `own` ones touches it, and if it is f32 wherever it is used.
void narrow_buffers(std::vector<rkernel::Problem>& problems, const std::vector<bool>& own,
                    const rkernel::BufferFacts& buffers, DType precision);

}  // namespace dyn::ptx
