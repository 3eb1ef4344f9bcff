#pragma once
// Which operands can be copied to shared memory 16 bytes or 4 at a time, or by way of strips.

#include <cstdint>
#include <optional>
#include <span>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

/// A copy of chunks, of 16 bytes or of words of 4, needs the dtype of the tile, stride 1 along
/// `inner`, and a start of every row that is a multiple of a chunk; where rows are windows,
/// channels side by side, and such a start of every tap, or
/// of every run of taps (WindowLayout::in_runs). Buffers begin at such an address
/// (rkernel::Device::allocate). none: the strides leave it open.
std::optional<bool> provably_vectors(const rkernel::Operand& operand, int inner, DType tile_dtype);

/// The same of words. Elements of 4 bytes are no words of several.
std::optional<bool> provably_words(const rkernel::Operand& operand, int inner, DType tile_dtype);

/// Of vectors, for the values of a problem's slots.
bool vectors_now(const rkernel::Problem& problem, int index, int inner, DType tile_dtype,
                 const codegen::SlotTable& slots, std::span<const std::int64_t> ints);

/// Strips (StripLayout) are copied in words of 4 bytes: rows of the tensor must begin with whole
/// words. Rows of windows must have least_strip_windows, and places in a row 30 bits. none: the
/// sizes leave it open.
std::optional<bool> provably_strips(const rkernel::Operand& windows);

/// The same for the values of a problem's slots.
bool strips_now(const rkernel::Problem& problem, int index, const codegen::SlotTable& slots,
                std::span<const std::int64_t> ints);

}  // namespace dyn::ptx
