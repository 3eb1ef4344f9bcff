#pragma once
// Numbers as codes of 4 bits times a scale.

#include <cstdint>
#include <vector>

#include "dyn/dtype.hpp"

namespace dyn::rkernel {

/// Codes blocks of several columns, side by side: the elements of a column's block are codes of -8
/// to 7 times one scale. Loops run along the columns.
class BlockCoder {
 public:
  /// `scale`: f16 or f32, which holds the scales.
  BlockCoder(DType scale, std::int64_t columns);

  /// Chooses the scales of `count` rows, which lie one after the other and hold finite numbers: of
  /// those that make the element of the largest magnitude in a column the last code on either side,
  /// the one with the smaller sum of squared errors.
  void choose_scales(const float* rows, std::int64_t count);

  /// As `scale` holds them.
  const std::vector<float>& scales() const noexcept { return scales_; }
  /// The codes of a row of the block.
  void code(const float* row, std::int32_t* codes) const;

 private:
  void set_scales(float code);
  void invert_scales();
  void add_up_errors(const float* rows, std::int64_t count);

  const DType scale_;
  const std::size_t width_;
  std::vector<float> inverses_, scales_, extremes_, errors_, other_scales_, other_errors_;
  std::vector<std::uint16_t> halves_;
};

}  // namespace dyn::rkernel
