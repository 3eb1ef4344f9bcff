#pragma once
// Formats of narrow floats, and the numbers that codes in memory stand for.

#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::graph {

/// Which codes of a format are no finite numbers.
enum class SpecialCodes : std::uint8_t {
  None,
  /// Those of the last exponent: infinity without fraction bits, else NaN.
  LastExponent,
  /// The last one is NaN.
  Last,
  /// The code of -0 is NaN.
  NegativeZero,
};

/// A narrow float: from its upper bits down a sign, an exponent with a bias, a fraction. Without
/// fraction bits it has neither zero nor subnormal numbers.
struct FloatFormat {
  int exponent_bits, fraction_bits, bias;
  SpecialCodes special;
  bool is_signed = true;

  /// Bits without the sign.
  constexpr int magnitude_bits() const { return exponent_bits + fraction_bits; }
  /// The code of the greatest finite number.
  constexpr std::uint32_t greatest() const {
    const std::uint32_t all = (1U << magnitude_bits()) - 1;
    if (special == SpecialCodes::LastExponent) return all - (1U << fraction_bits);
    return special == SpecialCodes::Last ? all - 1 : all;
  }
  /// The code of infinity, or of NaN where the format has no infinity, or of the greatest number
  /// where it has neither.
  constexpr std::uint32_t beyond() const {
    if (special == SpecialCodes::NegativeZero) return not_a_number();
    return special == SpecialCodes::None ? greatest() : greatest() + 1;
  }
  /// A quiet NaN; -0 where there is none.
  constexpr std::uint32_t not_a_number() const {
    if (special == SpecialCodes::LastExponent) return greatest() + 1 + (1U << (fraction_bits - 1));
    return special == SpecialCodes::Last ? greatest() + 1 : 1U << magnitude_bits();
  }
};

/// True for the floats that exist in memory alone.
constexpr bool is_narrow_float(DType dtype) noexcept {
  return dtype == DType::f16 || dtype == DType::bf16 ||
         (dtype >= DType::f8e4m3fn && dtype <= DType::f4e2m1);
}

/// Only for narrow floats.
constexpr FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return {8, 7, 127, SpecialCodes::LastExponent};
    case DType::f8e4m3fn: return {4, 3, 7, SpecialCodes::Last};
    case DType::f8e4m3fnuz: return {4, 3, 8, SpecialCodes::NegativeZero};
    case DType::f8e5m2: return {5, 2, 15, SpecialCodes::LastExponent};
    case DType::f8e5m2fnuz: return {5, 2, 16, SpecialCodes::NegativeZero};
    case DType::f8e8m0: return {8, 0, 127, SpecialCodes::Last, false};
    case DType::f4e2m1: return {2, 1, 1, SpecialCodes::None};
    default: return {5, 10, 15, SpecialCodes::LastExponent};
  }
}

/// Bits of i4, u4, i2 and u2; 0 for all others.
constexpr int integer_code_bits(DType dtype) noexcept {
  if (dtype == DType::i4 || dtype == DType::u4) return 4;
  return dtype == DType::i2 || dtype == DType::u2 ? 2 : 0;
}
constexpr bool is_signed_code(DType dtype) noexcept {
  return dtype == DType::i4 || dtype == DType::i2;
}
/// Bits of an element in a file that packs elements of less than a byte, from the lowest bits on.
constexpr int packed_bits(DType dtype) noexcept {
  return dtype == DType::f4e2m1 ? 4 : integer_code_bits(dtype);
}

/// A narrow float as memory holds it. What is too large becomes infinite, or NaN where the format
/// has no infinity, or the greatest number where it has neither; NaN becomes -0 where there is
/// none. Halves go to the even code, in f8e8m0 to the greater one.
double float_of_code(DType dtype, std::uint16_t code);
std::uint16_t code_of_float(DType dtype, double number);

/// A code (f8e4m3fn to u2) as a number, and the code of a number, as a cast gives them: for floats
/// by way of f32; for integers the low bits of what an i32 has of the number.
double number_of_code(DType dtype, std::int64_t code);
std::int64_t code_of_number(DType dtype, double number);
/// The low bits of an integer, its sign extended where the dtype has one; for i4, u4, i2 and u2.
std::int64_t code_of_integer(DType dtype, std::int64_t integer);

}  // namespace dyn::graph
