#pragma once
// Panels of constant operands.

#include <cstdint>

#include "src/rkernel/problem/packed_layout.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// PackedLayout::rows of a k x n operand of this dtype: what packs it and what reads it agree here.
std::int64_t packed_rows(const codegen::Isa& isa, DType dtype, std::int64_t k, std::int64_t n);

/// Packs panels [first_panel, last_panel) of the source into a matrix at `destination`; zeros
/// beyond column n, and with the last panel the layout's rows. f16 and bf16 are rounded to nearest
/// even: what is too large becomes infinite, NaN stays NaN. i8 are multiples of their column's
/// scale, a 127th of its largest magnitude, rounded to nearest even; a column of zeros has scale 0.
/// Groups of integers take numbers that are theirs. Throws Error(model) for NaN and infinity in i8.
void pack_panels(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& source,
                 std::int64_t first_panel, std::int64_t last_panel, void* destination);

/// The same of codes, which stay as they are.
void pack_coded_panels(const rkernel::PackedLayout& layout, const rkernel::CodedColumns& source,
                       std::int64_t first_panel, std::int64_t last_panel, void* destination);

}  // namespace dyn::cpu
