#pragma once
// The layout of a packed constant operand.

#include <cstdint>

#include "dyn/dtype.hpp"
#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/rkernel/problem/factors.hpp"

namespace dyn::rkernel {

/// A k x n matrix in panels of `panel` columns, each spanning all of K, zero-filled at the edge:
/// element (k, n) is the element of number (n / panel) * K * panel + k * panel + n % panel. With a
/// group of g elements, K is filled with zeros up to a multiple of g, and the element is that of
/// number (n / panel) * K * panel + (k / g * panel + n % panel) * g + k % g. In i8
/// the weight is the element times the f32 scale of its column; the scales, one for each column of
/// each panel, lie behind all panels. There, in f32, the last columns may lie once more, each
/// contiguous along k; and behind groups of bytes the sums of all columns of each panel, i32, or of
/// codes f32. With a coding a panel is one block of K after the other: the scales of all columns,
/// their zero points where they have such, and row by row the words of all columns, each of
/// codes_of_word elements along k as the group takes them (bit_of_code). With several sides panels
/// of as many matrices of one size and dtype take turns: panel i of each, then panel i + 1; nothing
/// lies behind them.
struct PackedLayout {
  DType dtype = DType::f32;
  std::int64_t panel = 1, k = 0, n = 0;
  std::int64_t rows =
      0;  ///< so many of the last columns, at most a panel's, are stored as rows as well; f32 only
  Group group = Group::None;  ///< of what contracts it; then there are neither scales nor rows
  bool sums = false;          ///< of columns, behind the panels; Group::Bytes only
  Coding coding = {};         ///< whose scales lie in its blocks
  int sides = 1;              ///< so many matrices, of which this is one

  std::int64_t panels() const noexcept { return (n + panel - 1) / panel; }
  bool has_scales() const noexcept { return dtype == DType::i8 && group == Group::None && !coding; }
  /// Rows of a panel.
  std::int64_t depth() const noexcept {
    return round_up(k, coding ? coding.block : elements_of(group));
  }
  std::int64_t panel_bytes() const noexcept {
    return panels() == 0 ? 0 : element_bytes() / panels();
  }
  /// Bytes from one panel to the next of the same matrix.
  std::int64_t panel_step() const noexcept { return sides * panel_bytes(); }
  std::int64_t elements() const noexcept { return panels() * panel * depth(); }
  /// Bytes from the start of the panels to the scales, rows or sums; aligned to a cache line.
  std::int64_t scales_offset_bytes() const noexcept { return whole_lines(element_bytes()); }
  std::int64_t rows_offset_bytes() const noexcept { return whole_lines(element_bytes()); }
  std::int64_t sums_offset_bytes() const noexcept { return whole_lines(element_bytes()); }
  /// Elements from one row to the next: whole cache lines, chosen so that rows do not share cache
  /// sets.
  std::int64_t row_stride() const noexcept {
    return whole_lines(k * float_bytes + line_bytes) / float_bytes;
  }
  std::int64_t bytes() const noexcept {
    if (has_scales() || sums) return scales_offset_bytes() + panels() * panel * float_bytes;
    return rows > 0 ? rows_offset_bytes() + rows * row_stride() * float_bytes : element_bytes();
  }

 private:
  static std::int64_t whole_lines(std::int64_t bytes) noexcept {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }
  std::int64_t element_bytes() const noexcept {
    if (coding) return elements() / coding.block * coding.block_bytes();
    return elements() * static_cast<std::int64_t>(size_of(dtype));
  }
};

/// A matrix as it is before it is packed: element (k, n) is number k * k_stride + n * n_stride.
struct MatrixElements {
  const void* elements;  ///< of a dtype that converts() to f32
  DType dtype;
  std::int64_t k_stride, n_stride;

  const std::byte* at(std::int64_t k, std::int64_t n) const {
    return static_cast<const std::byte*>(elements) +
           (k * k_stride + n * n_stride) * static_cast<std::int64_t>(size_of(dtype));
  }
};

/// Weights as a file has them, column by column: codes along k, of 4 bits two in a byte, the first
/// in the lower bits, each less the zero point of its block (the middle without) times its scale.
struct CodedColumns {
  const std::uint8_t* codes;
  const float* scales;
  const std::uint8_t* zeros;          ///< nullptr: none
  std::int64_t column_bytes, blocks;  ///< from one column's codes, and scales, to the next's
};

}  // namespace dyn::rkernel
