#include "graph/ir/codes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "graph/ir/scalars.hpp"

namespace dyn::graph {
namespace {

constexpr int f64_fraction_bits = 52;
constexpr std::uint64_t f64_bias = 1023, f64_last_exponent = 2047;

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>((f64_bias + static_cast<std::uint64_t>(exponent))
                               << f64_fraction_bits);
}

/// Every number of a narrow float, its subnormal ones among them, is a normal f64.
double magnitude_of(const FloatFormat& format, std::uint32_t magnitude) {
  const std::uint32_t one = 1U << format.fraction_bits;
  if (magnitude < one && format.fraction_bits > 0)
    return magnitude * power_of_two(1 - format.bias - format.fraction_bits);
  const bool is_infinite_or_nan =
      format.special == SpecialCodes::LastExponent && magnitude > format.greatest();
  const std::uint64_t exponent = is_infinite_or_nan
                                     ? f64_last_exponent
                                     : f64_bias + (magnitude >> format.fraction_bits) -
                                           static_cast<std::uint64_t>(format.bias);
  const std::uint64_t fraction = magnitude & (one - 1);
  return std::bit_cast<double>(exponent << f64_fraction_bits |
                               fraction << (f64_fraction_bits - format.fraction_bits));
}

/// Without zero and subnormal numbers: the exponent alone.
std::uint32_t nearest_power(const FloatFormat& format, double magnitude) {
  if (std::isinf(magnitude)) return format.beyond();
  if (magnitude < power_of_two(-format.bias)) return 0;
  const int exponent = std::ilogb(magnitude);
  const int upper = magnitude >= 1.5 * power_of_two(exponent) ? 1 : 0;
  return std::min(static_cast<std::uint32_t>(exponent + format.bias + upper), format.beyond());
}

/// A carry out of the fraction goes into the exponent, which is right.
std::uint32_t nearest_code(const FloatFormat& format, double magnitude) {
  if (std::isinf(magnitude)) return format.beyond();
  if (magnitude == 0) return 0;
  // In units of the last bit, which subnormal numbers share with the least normal one.
  const int least = 1 - format.bias, exponent = std::max(std::ilogb(magnitude), least);
  const double units = std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
  const double code = std::ldexp(exponent - least, format.fraction_bits) + units;
  return code > format.greatest() ? format.beyond() : static_cast<std::uint32_t>(code);
}

}  // namespace

double float_of_code(DType dtype, std::uint16_t code) {
  const FloatFormat format = format_of(dtype);
  const std::uint32_t sign = 1U << format.magnitude_bits(), magnitude = code & (sign - 1);
  const bool is_negative = format.is_signed && (code & sign) != 0,
             is_nan = format.special == SpecialCodes::NegativeZero
                          ? code == sign
                          : format.special == SpecialCodes::Last && magnitude == sign - 1;
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  const double number = magnitude_of(format, magnitude);
  return is_negative ? -number : number;
}

std::uint16_t code_of_float(DType dtype, double number) {
  const FloatFormat format = format_of(dtype);
  const bool is_nan = std::isnan(number) || (!format.is_signed && number < 0);
  const double magnitude = std::fabs(number);
  const std::uint32_t code = is_nan                     ? format.not_a_number()
                             : format.fraction_bits > 0 ? nearest_code(format, magnitude)
                                                        : nearest_power(format, magnitude);
  // NaN stands where -0 would.
  const bool has_sign =
      format.is_signed && (format.special != SpecialCodes::NegativeZero || code != 0);
  const std::uint32_t sign = has_sign && std::signbit(number) ? 1U << format.magnitude_bits() : 0;
  return static_cast<std::uint16_t>(sign | code);
}

std::int64_t code_of_integer(DType dtype, std::int64_t integer) {
  const int unused = 64 - integer_code_bits(dtype);
  const auto upper = static_cast<std::uint64_t>(integer) << unused;
  return is_signed_code(dtype) ? static_cast<std::int64_t>(upper) >> unused
                               : static_cast<std::int64_t>(upper >> unused);
}

double number_of_code(DType dtype, std::int64_t code) {
  return is_narrow_float(dtype) ? float_of_code(dtype, static_cast<std::uint16_t>(code))
                                : static_cast<double>(code);
}

std::int64_t code_of_number(DType dtype, double number) {
  if (is_narrow_float(dtype)) return code_of_float(dtype, rounded(DType::f32, number));
  return code_of_integer(dtype, saturated(DType::i32, number));
}

}  // namespace dyn::graph
