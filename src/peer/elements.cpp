#include "src/peer/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace dyn::peer {
namespace {

struct Row {
  const char* name;
  Element element;
};
constexpr Row rows[] = {{"f32", Element::F32}, {"f16", Element::F16}, {"bf16", Element::Bf16},
                        {"i32", Element::I32}, {"i8", Element::I8},   {"u8", Element::U8}};

constexpr int half_fraction = 10, half_bias = 15;

/// To nearest, ties to even; magnitudes at most 1.
std::uint16_t half_of(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (size < 0x1p-14F) return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24F));
  const int exponent = std::ilogb(size);
  // A fraction that is rounded up to 1 carries into the exponent.
  const auto fraction =
      static_cast<int>(std::nearbyint(std::ldexp(size, half_fraction - exponent))) -
      (1 << half_fraction);
  return sign | static_cast<std::uint16_t>(((exponent + half_bias) << half_fraction) + fraction);
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> half_fraction & 31, fraction = bits & ((1 << half_fraction) - 1);
  const double size = exponent == 0 ? std::ldexp(fraction, -24)
                                    : std::ldexp(fraction + (1 << half_fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

std::uint16_t bfloat_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T, class Convert>
Buffer converted(const Buffer& floats, std::int64_t count, const Convert& convert) {
  Buffer out(static_cast<std::size_t>(count) * sizeof(T));
  std::transform(floats.floats(), floats.floats() + count, static_cast<T*>(out.data()), convert);
  return out;
}

}  // namespace

Element element_named(const std::string& dtype) {
  const Row* const row = std::ranges::find(rows, dtype, &Row::name);
  if (row == std::end(rows)) throw Unsupported(fmt::format("no elements of {}", dtype));
  return row->element;
}

Buffer random_elements(Element element, std::int64_t count, std::uint32_t seed) {
  Buffer floats = random_floats(count, seed);
  constexpr float half_of_bytes = 128;
  const auto whole = [](float value) {
    return std::max(std::floor(value * half_of_bytes), -127.0F);
  };
  switch (element) {
    case Element::F16: return converted<std::uint16_t>(floats, count, half_of);
    case Element::Bf16: return converted<std::uint16_t>(floats, count, bfloat_of);
    case Element::I32:
      return converted<std::int32_t>(
          floats, count, [&](float value) { return static_cast<std::int32_t>(whole(value)); });
    case Element::I8:
      return converted<std::int8_t>(
          floats, count, [&](float value) { return static_cast<std::int8_t>(whole(value)); });
    case Element::U8:
      return converted<std::uint8_t>(floats, count, [&](float value) {
        return static_cast<std::uint8_t>(std::floor((value + 1) * half_of_bytes));
      });
    case Element::F32: break;
  }
  return floats;
}

double read_element(Element element, const void* data, std::int64_t index) {
  const auto at = [&]<class T>(T) { return static_cast<const T*>(data)[index]; };
  switch (element) {
    case Element::F32: return at(float{});
    case Element::F16: return half_value(at(std::uint16_t{}));
    case Element::Bf16: return std::bit_cast<float>(std::uint32_t{at(std::uint16_t{})} << 16);
    case Element::I32: return at(std::int32_t{});
    case Element::I8: return at(std::int8_t{});
    case Element::U8: return at(std::uint8_t{});
  }
  return 0;
}

}  // namespace dyn::peer
