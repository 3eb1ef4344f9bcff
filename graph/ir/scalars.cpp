#include "graph/ir/scalars.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace dyn::graph {

std::int64_t wrapped(DType dtype, std::uint64_t value) {
  std::int64_t result = 0;
  with_element_type(dtype, [&](auto zero) {
    if constexpr (!std::is_floating_point_v<decltype(zero)>)
      result = static_cast<std::int64_t>(static_cast<decltype(zero)>(value));
  });
  return result;
}

std::int64_t saturated(DType dtype, double number) {
  if (dtype == DType::boolean) return number != 0;  // NaN is not 0
  if (std::isnan(number)) return 0;
  std::int64_t result = 0;
  with_element_type(dtype, [&](auto zero) {
    if constexpr (!std::is_floating_point_v<decltype(zero)>) {
      using Limits = std::numeric_limits<decltype(zero)>;
      // The greatest 64-bit integers are no doubles: each becomes the power of two that follows it.
      if (number >= static_cast<double>(Limits::max()))
        result = static_cast<std::int64_t>(Limits::max());
      else if (number <= static_cast<double>(Limits::lowest()))
        result = static_cast<std::int64_t>(Limits::lowest());
      else
        result = static_cast<std::int64_t>(static_cast<decltype(zero)>(number));
    }
  });
  return result;
}

std::int64_t least(DType dtype) {
  return saturated(dtype, dtype == DType::boolean ? 0 : -std::numeric_limits<double>::infinity());
}

std::int64_t greatest(DType dtype) {
  return saturated(dtype, std::numeric_limits<double>::infinity());
}

double as_number(DType dtype, std::int64_t integer) {
  return dtype == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(integer))
                             : static_cast<double>(integer);
}

std::string integer_text(DType dtype, std::int64_t integer) {
  return dtype == DType::u64 ? std::to_string(static_cast<std::uint64_t>(integer))
                             : std::to_string(integer);
}

double rounded(DType dtype, double number) {
  if (dtype == DType::f64) return number;
  return is_half(dtype) ? half_number(dtype, half_bits(dtype, number))
                        : static_cast<double>(static_cast<float>(number));
}

namespace {

struct HalfFormat {
  int fraction_bits, least_exponent;  ///< of normal numbers
  std::uint16_t infinity;
};

constexpr HalfFormat format_of(DType dtype) {
  return dtype == DType::f16 ? HalfFormat{10, -14, 0x7c00} : HalfFormat{7, -126, 0x7f80};
}

}  // namespace

double half_number(DType dtype, std::uint16_t bits) {
  constexpr std::uint32_t infinity = 0x7f80'0000, f16_infinity = 0x7c00, f16_one = 0x400,
                          bias_difference = (127 - 15) << 23;
  const auto sign = static_cast<std::uint32_t>(bits & 0x8000) << 16,
             magnitude = static_cast<std::uint32_t>(bits & 0x7fff);
  const auto number = [&](std::uint32_t of_f32) {
    return static_cast<double>(std::bit_cast<float>(sign | of_f32));
  };
  if (dtype == DType::bf16) return number(magnitude << 16);
  if (magnitude >= f16_infinity) return number(infinity | (magnitude - f16_infinity) << 13);
  if (magnitude >= f16_one) return number((magnitude << 13) + bias_difference);
  const double denormal = static_cast<double>(magnitude) * 0x1p-24;
  return sign != 0 ? -denormal : denormal;
}

std::uint16_t half_bits(DType dtype, double number) {
  const HalfFormat format = format_of(dtype);
  const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
  if (std::isnan(number))
    return sign | format.infinity | static_cast<std::uint16_t>(1 << (format.fraction_bits - 1));
  const double magnitude = std::fabs(number);
  if (magnitude == 0) return sign;
  // In units of the last bit, which denormal numbers share with the least normal one. A carry goes
  // into the exponent, which is right.
  const int exponent = std::isinf(number) ? std::numeric_limits<std::int16_t>::max()
                                          : std::max(std::ilogb(magnitude), format.least_exponent);
  const double units = std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
  const double code = std::ldexp(exponent - format.least_exponent, format.fraction_bits) + units;
  return sign | static_cast<std::uint16_t>(std::min<double>(code, format.infinity));
}

}  // namespace dyn::graph
