#include "tests/support/half.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dyn::testing {
namespace {

struct Format {
  int mantissa_bits, least_exponent;  ///< of normal numbers
  std::uint16_t infinity;
};
constexpr Format f16{10, -14, 0x7c00}, bf16{7, -126, 0x7f80};

const Format& format_of(DType dtype) { return dtype == DType::f16 ? f16 : bf16; }

}  // namespace

double half_value(DType dtype, std::uint16_t bits) {
  const Format& format = format_of(dtype);
  const int magnitude = bits & 0x7fff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (magnitude > format.infinity) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == format.infinity) return sign * std::numeric_limits<double>::infinity();
  const int exponent = magnitude >> format.mantissa_bits,
            mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int implicit = exponent > 0 ? 1 << format.mantissa_bits : 0;
  return sign * std::ldexp(implicit + mantissa, std::max(exponent, 1) - 1 + format.least_exponent -
                                                    format.mantissa_bits);
}

std::uint16_t half_bits(DType dtype, double value) {
  const Format& format = format_of(dtype);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7fff;
  if (std::isinf(value)) return sign | format.infinity;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  // Finds the last bit that the format keeps, and rounds the number in units of it to nearest even.
  const int last = std::max(exponent - 1, format.least_exponent) - format.mantissa_bits;
  const double units = std::nearbyint(std::ldexp(std::abs(value), -last));
  const int biased =
      last + format.mantissa_bits - format.least_exponent;  // 0: denormal, or the least exponent
  const double code = units + std::ldexp(biased, format.mantissa_bits);
  return sign | static_cast<std::uint16_t>(std::min<double>(code, format.infinity));
}

}  // namespace dyn::testing
