#pragma once
// Memory of fewer bytes: which buffers can be kept in f16 or bf16.

#include <vector>

#include "src/rkernel/target/target.hpp"

namespace dyn::ptx {

/// Narrows f32 operands to `precision`, alike in all problems: factors of contractions that are
/// constant, and buffers that are neither constant nor ports. Only buffers that no problem but the
/// `own` ones touches, and that are f32 wherever they are used.
void narrow_buffers(std::vector<rkernel::Problem>& problems, const std::vector<bool>& own,
                    const rkernel::BufferFacts& buffers, DType precision);

}  // namespace dyn::ptx
