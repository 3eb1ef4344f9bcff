#include "src/rkernel/expr/narrow.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"

namespace dyn::rkernel {
namespace {

constexpr std::uint32_t sign_bit = 0x8000'0000, infinity_bits = 0x7f80'0000;

/// The upper bits of `bits` without the lowest `dropped`, rounded to nearest even. A carry goes
/// into the exponent, which is right.
constexpr std::uint32_t rounded(std::uint32_t bits, int dropped) {
  const std::uint32_t half = std::uint32_t{1} << (dropped - 1);
  const std::uint32_t odd = (bits >> dropped) & 1;
  return (bits + half - 1 + odd) >> dropped;
}

}  // namespace

std::uint16_t to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t quiet = 0x40;
  if ((bits & ~sign_bit) > infinity_bits) return static_cast<std::uint16_t>(bits >> 16 | quiet);
  return static_cast<std::uint16_t>(rounded(bits, 16));
}

std::uint16_t to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits & sign_bit) >> 16);
  const std::uint32_t magnitude = bits & ~sign_bit;
  constexpr std::uint16_t f16_infinity = 0x7c00, f16_nan = 0x7e00;
  constexpr std::uint32_t exponent_step = 1u << 23, bias_difference = 127 - 15;
  constexpr std::uint32_t least_normal = (bias_difference + 1) * exponent_step;  // 2^-14
  constexpr std::uint32_t too_large = (bias_difference + 31) * exponent_step;    // 2^16
  if (magnitude > infinity_bits) return sign | f16_nan;
  if (magnitude >= too_large) return sign | f16_infinity;
  if (magnitude >= least_normal)
    return static_cast<std::uint16_t>(sign |
                                      rounded(magnitude - bias_difference * exponent_step, 13));
  // Denormal: a multiple of 2^-24, made from an f32 that is mantissa * 2^(exponent - 150).
  const auto dropped = static_cast<int>(126 - (magnitude >> 23));
  const std::uint32_t mantissa = (magnitude & (exponent_step - 1)) | exponent_step;
  constexpr int most_dropped = 25;  // beyond, less than half of the least denormal remains
  return dropped > most_dropped ? sign
                                : static_cast<std::uint16_t>(sign | rounded(mantissa, dropped));
}

bool converts(DType from, DType to) noexcept {
  return from == to || (from == DType::f32 && graph::is_half(to)) ||
         ((graph::is_half(from) || from == DType::i8) && to == DType::f32);
}

void convert(DType from, const void* in, DType to, void* out, std::int64_t count) {
  if (!converts(from, to)) {
    throw Error(ErrorKind::internal,
                fmt::format("there is no conversion from {} to {}", name_of(from), name_of(to)));
  }
  if (from == to) {
    if (count > 0) std::memcpy(out, in, static_cast<std::size_t>(count) * size_of(to));
    return;
  }
  if (from == DType::i8) {
    const auto* integers = static_cast<const std::int8_t*>(in);
    std::copy_n(integers, count, static_cast<float*>(out));
    return;
  }
  if (to == DType::f32) {
    const auto* bits = static_cast<const std::uint16_t*>(in);
    auto* wide = static_cast<float*>(out);
    for (std::int64_t i = 0; i < count; ++i)
      wide[i] = static_cast<float>(graph::float_of_code(from, bits[i]));
    return;
  }
  const auto* values = static_cast<const float*>(in);
  auto* narrow = static_cast<std::uint16_t*>(out);
  if (to == DType::bf16) {
    for (std::int64_t i = 0; i < count; ++i) narrow[i] = to_bf16(values[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) narrow[i] = to_f16(values[i]);
  }
}

}  // namespace dyn::rkernel
