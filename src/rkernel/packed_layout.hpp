#pragma once
// How a packed constant operand lies.

#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::rkernel {

/// A k x n matrix in panels of `panel` columns, each spanning all of K, zero-filled at the edge: element (k, n) is the element of number
/// (n / panel) * K * panel + k * panel + n % panel. In i8 the weight is the element times the f32 scale of its column; the scales, one for each column of
/// each panel, lie behind all panels.
struct PackedLayout {
  DType dtype = DType::f32;
  std::int64_t panel = 1, k = 0, n = 0;

  std::int64_t panels() const noexcept { return (n + panel - 1) / panel; }
  std::int64_t elements() const noexcept { return panels() * panel * k; }
  /// Of the scales, from the start of the panels; aligned to a cache line.
  std::int64_t scales_offset_bytes() const noexcept {
    constexpr std::int64_t line_bytes = 64;
    return (element_bytes() + line_bytes - 1) / line_bytes * line_bytes;
  }
  std::int64_t bytes() const noexcept {
    return dtype == DType::i8 ? scales_offset_bytes() + panels() * panel * static_cast<std::int64_t>(sizeof(float)) : element_bytes();
  }

 private:
  std::int64_t element_bytes() const noexcept { return elements() * static_cast<std::int64_t>(size_of(dtype)); }
};

}  // namespace dyn::rkernel
