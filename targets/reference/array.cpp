// Arrays, and their conversion to and from tensors.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "graph/ir/scalars.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::reference {
namespace {

/// f16 or bf16 by definition: fraction bits, and the exponent of the least normal number.
struct Format {
  int fraction_bits, least_exponent;
};

Format format_of(DType dtype) { return dtype == DType::f16 ? Format{10, -14} : Format{7, -126}; }

double decoded(DType dtype, std::uint16_t bits) {
  const Format format = format_of(dtype);
  const int magnitude = bits & 0x7fff, one = 1 << format.fraction_bits, exponent = magnitude / one,
            fraction = magnitude % one;
  const bool is_last = exponent == (0x8000 / one) - 1;
  double value =
      std::ldexp(exponent == 0 ? fraction : one + fraction,
                 std::max(exponent, 1) - 1 + format.least_exponent - format.fraction_bits);
  if (is_last)
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -value : value;
}

/// The bits of a number that the format holds.
std::uint16_t encoded(DType dtype, double value) {
  const Format format = format_of(dtype);
  const int one = 1 << format.fraction_bits, infinity = 0x8000 - one;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | one / 2);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  if (value == 0) return static_cast<std::uint16_t>(sign);
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const auto units =
      static_cast<int>(std::ldexp(std::fabs(value), format.fraction_bits - exponent));
  return static_cast<std::uint16_t>(sign | ((exponent - format.least_exponent) * one + units));
}

/// A narrow float in a byte: bits of its exponent and fraction, the exponent's bias, and which of
/// its codes are special.
struct ByteFormat {
  DType dtype;
  int exponent_bits, fraction_bits, bias;
  bool has_infinity, has_sign;
  int nan;  ///< the code of one; -1: there is none
};

const ByteFormat& byte_format(DType dtype) {
  static constexpr ByteFormat formats[] = {{DType::f8e4m3fn, 4, 3, 7, false, true, 0x7f},
                                           {DType::f8e4m3fnuz, 4, 3, 8, false, true, 0x80},
                                           {DType::f8e5m2, 5, 2, 15, true, true, 0x7e},
                                           {DType::f8e5m2fnuz, 5, 2, 16, false, true, 0x80},
                                           {DType::f8e8m0, 8, 0, 127, false, false, 0xff},
                                           {DType::f4e2m1, 2, 1, 1, false, true, -1}};
  return *std::ranges::find(formats, dtype, &ByteFormat::dtype);
}

}  // namespace

double number_of_code(DType dtype, std::int64_t code) {
  const ByteFormat& format = byte_format(dtype);
  const std::int64_t sign = std::int64_t{1} << (format.exponent_bits + format.fraction_bits),
                     one = std::int64_t{1} << format.fraction_bits, magnitude = code % sign,
                     exponent = magnitude / one, fraction = magnitude % one;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const bool is_nan_of_both_signs = format.nan == 0x7f && magnitude == format.nan;
  if (code == format.nan || is_nan_of_both_signs) return nan;
  double value = 0;
  if (format.has_infinity && exponent == sign / one - 1)
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : nan;
  else if (exponent == 0 && format.has_sign)
    value = std::ldexp(fraction, 1 - format.bias - format.fraction_bits);
  else
    value =
        std::ldexp(one + fraction, static_cast<int>(exponent) - format.bias - format.fraction_bits);
  return code >= sign ? -value : value;
}

std::int64_t nearest_code(DType dtype, double value) {
  const ByteFormat& format = byte_format(dtype);
  const std::int64_t sign = std::int64_t{1} << (format.exponent_bits + format.fraction_bits);
  if (std::isnan(value) || (value < 0 && !format.has_sign))
    return format.nan < 0 ? sign : format.nan;
  // Finite codes of magnitudes are in the order of their numbers.
  const double magnitude = std::fabs(value);
  std::int64_t greatest = sign - 1, best = 0;
  while (!std::isfinite(number_of_code(dtype, greatest))) --greatest;
  for (std::int64_t code = 1; code <= greatest; ++code) {
    const double here = std::fabs(number_of_code(dtype, code) - magnitude),
                 there = std::fabs(number_of_code(dtype, best) - magnitude);
    const bool wins_tie = code % 2 == 0 || !format.has_sign;
    if (here < there || (here == there && wins_tie)) best = code;
  }
  const double step = number_of_code(dtype, greatest) - number_of_code(dtype, greatest - 1),
               beyond = number_of_code(dtype, greatest) + step / (format.has_sign ? 2 : 1);
  // The code after an odd one is even, and takes the tie.
  const bool is_beyond =
      greatest % 2 == 0 && format.has_sign ? magnitude > beyond : magnitude >= beyond;
  const std::int64_t negative = std::signbit(value) ? sign : 0;
  if (is_beyond) {
    if (format.has_infinity) return negative + greatest + 1;
    if (format.nan >= 0) return format.nan;
    return negative + greatest;
  }
  const bool has_negative_zero = format.nan != 0x80;
  return best == 0 && !has_negative_zero ? 0 : format.has_sign ? negative + best : best;
}

Array make_array(DType dtype, std::vector<std::int64_t> dims) {
  Array array{dtype, std::move(dims), {}, {}};
  const auto count = static_cast<std::size_t>(element_count(array.dims));
  if (is_float(dtype)) {
    array.floats.resize(count);
  } else {
    array.integers.resize(count);
  }
  return array;
}

double rounded_to(DType dtype, double value) {
  if (dtype == DType::f64) return value;
  if (dtype == DType::f32) return static_cast<float>(value);
  if (!std::isfinite(value) || value == 0) return value;
  const Format format = format_of(dtype);
  // The last bit that the format keeps. In units of it, the default rounding is to nearest, ties to
  // even.
  const int last = std::max(std::ilogb(value), format.least_exponent) - format.fraction_bits;
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  const double largest =
      std::ldexp(2 - std::ldexp(1, -format.fraction_bits), dtype == DType::f16 ? 15 : 127);
  return std::fabs(result) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                     : result;
}

Array from_tensor(const Tensor& tensor) {
  Array array{tensor.dtype(), tensor.shape(), {}, {}};
  const bool has_elements = graph::with_element_type(tensor.dtype(), [&](auto zero) {
    using Element =
        std::conditional_t<std::is_same_v<decltype(zero), bool>, std::uint8_t, decltype(zero)>;
    const auto* source = static_cast<const Element*>(tensor.raw());
    if constexpr (std::is_floating_point_v<Element>)
      array.floats.assign(source, source + tensor.size());
    else
      array.integers.assign(source, source + tensor.size());
  });
  if (!has_elements) {
    const auto* bits = static_cast<const std::uint16_t*>(tensor.raw());
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      array.floats.push_back(decoded(tensor.dtype(), bits[i]));
  }
  if (tensor.dtype() == DType::boolean)
    for (auto& value : array.integers) value = value != 0;
  return array;
}

Tensor to_tensor(const Array& array) {
  Tensor tensor(array.dtype, array.dims);
  const bool has_elements = graph::with_element_type(array.dtype, [&](auto zero) {
    using Element = decltype(zero);
    auto* target = static_cast<Element*>(tensor.raw());
    for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
      if constexpr (std::is_floating_point_v<Element>)
        target[i] = static_cast<Element>(array.floats[i]);
      else
        target[i] = static_cast<Element>(array.integers[i]);
    }
  });
  if (!has_elements) {
    auto* bits = static_cast<std::uint16_t*>(tensor.raw());
    for (std::size_t i = 0; i < array.floats.size(); ++i)
      bits[i] = encoded(array.dtype, rounded_to(array.dtype, array.floats[i]));
  }
  return tensor;
}

}  // namespace dyn::reference
