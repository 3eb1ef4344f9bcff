#include "src/rkernel/expr/block_coder.hpp"

#include <algorithm>
#include <cmath>

#include "src/rkernel/expr/narrow.hpp"

namespace dyn::rkernel {
namespace {

constexpr float least_code = -8, greatest_code = 7;

/// Rounds to nearest, ties to even. Within the range of codes a sum with `shift` has no bits of
/// fraction.
float code_of(float element, float inverse) {
  constexpr float shift = 0x1.8p23f;
  const float code = element * inverse, above = code < least_code ? least_code : code;
  return (above < greatest_code ? above : greatest_code) + shift - shift;
}

}  // namespace

BlockCoder::BlockCoder(DType scale, std::int64_t columns)
    : scale_(scale),
      width_(static_cast<std::size_t>(columns)),
      inverses_(width_),
      scales_(width_),
      extremes_(width_),
      errors_(width_),
      halves_(width_) {}

void BlockCoder::choose_scales(const float* rows, std::int64_t count) {
  std::ranges::fill(extremes_, 0.0F);
  for (std::int64_t k = 0; k < count; ++k) {
    const float* row = rows + k * static_cast<std::int64_t>(width_);
    for (std::size_t n = 0; n < width_; ++n)
      extremes_[n] = std::fabs(row[n]) > std::fabs(extremes_[n]) ? row[n] : extremes_[n];
  }
  set_scales(least_code);
  add_up_errors(rows, count);
  other_scales_ = scales_;
  other_errors_ = errors_;
  set_scales(greatest_code);
  add_up_errors(rows, count);
  for (std::size_t n = 0; n < width_; ++n)
    scales_[n] = other_errors_[n] <= errors_[n] ? other_scales_[n] : scales_[n];
  invert_scales();
}

void BlockCoder::code(const float* row, std::int32_t* codes) const {
  for (std::size_t n = 0; n < width_; ++n)
    codes[n] = static_cast<std::int32_t>(code_of(row[n], inverses_[n]));
}

/// Those that make the extremes this code, as memory holds them.
void BlockCoder::set_scales(float code) {
  for (std::size_t n = 0; n < width_; ++n) scales_[n] = extremes_[n] / code;
  if (scale_ != DType::f32) {
    const auto count = static_cast<std::int64_t>(width_);
    convert(DType::f32, scales_.data(), scale_, halves_.data(), count);
    convert(scale_, halves_.data(), DType::f32, scales_.data(), count);
  }
  invert_scales();
}

void BlockCoder::invert_scales() {
  for (std::size_t n = 0; n < width_; ++n) inverses_[n] = scales_[n] == 0 ? 0 : 1 / scales_[n];
}

void BlockCoder::add_up_errors(const float* rows, std::int64_t count) {
  std::ranges::fill(errors_, 0.0F);
  for (std::int64_t k = 0; k < count; ++k) {
    const float* row = rows + k * static_cast<std::int64_t>(width_);
    for (std::size_t n = 0; n < width_; ++n) {
      const float missing = row[n] - code_of(row[n], inverses_[n]) * scales_[n];
      errors_[n] += missing * missing;
    }
  }
}

}  // namespace dyn::rkernel
