#include "src/runtime/weights/random_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/scalars.hpp"
#include "src/rkernel/expr/narrow.hpp"
#include "src/runtime/weights/golden.hpp"

namespace dyn::runtime {
namespace {

/// Finaliser of the SplitMix64 generator (Steele, Lea and Flood, 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t bits_at(std::uint64_t seed, std::uint64_t index) {
  return mix(seed + index * golden);
}

constexpr int quantile_bits = 11;
constexpr std::size_t intervals = std::size_t{1} << quantile_bits;
using QuantileTable = std::array<float, intervals + 1>;

/// x with P(X > x) = tail for a standard normal X, by Newton's method from `x`.
double quantile_of_tail(double tail, double x) {
  for (int i = 0; i < 8; ++i) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    x += (std::erfc(x / std::numbers::sqrt2) / 2 - tail) / density;
  }
  return x;
}

/// Quantiles of the normal distribution at the middles of intervals + 1 equal parts; interpolated
/// between.
const QuantileTable& quantiles() {
  static const QuantileTable table = [] {
    QuantileTable result{};
    double x = 0;
    for (std::size_t i = intervals / 2; i <= intervals; ++i) {
      const double tail = 1 - (static_cast<double>(i) + 0.5) / static_cast<double>(intervals + 1);
      x = quantile_of_tail(tail, x);
      result[i] = static_cast<float>(x);
      result[intervals - i] = static_cast<float>(-x);
    }
    return result;
  }();
  return table;
}

/// Makes one element of half of 64 random bits.
float normal(const QuantileTable& table, std::uint32_t bits) {
  constexpr int fraction_bits = 32 - quantile_bits;
  constexpr float unit = 1.0f / static_cast<float>(1u << fraction_bits);
  const std::uint32_t interval = bits >> fraction_bits;
  const float fraction = static_cast<float>(bits & ((1u << fraction_bits) - 1)) * unit;
  return table[interval] + fraction * (table[interval + 1] - table[interval]);
}

template <class T>
void fill_normal(std::uint64_t seed, NormalSpread spread, std::int64_t first, std::int64_t count,
                 T* out) {
  const QuantileTable& table = quantiles();
  const auto half = [&](std::int64_t index) {
    const std::uint64_t bits = bits_at(seed, static_cast<std::uint64_t>(index) / 2);
    return spread.mean + spread.scale * normal(table, static_cast<std::uint32_t>(
                                                          index % 2 == 0 ? bits : bits >> 32));
  };
  std::int64_t i = 0;
  if (first % 2 != 0 && count > 0) out[i++] = half(first);
  for (; i + 1 < count; i += 2) {
    const std::uint64_t bits = bits_at(seed, static_cast<std::uint64_t>(first + i) / 2);
    out[i] = spread.mean + spread.scale * normal(table, static_cast<std::uint32_t>(bits));
    out[i + 1] = spread.mean + spread.scale * normal(table, static_cast<std::uint32_t>(bits >> 32));
  }
  if (i < count) out[i] = half(first + i);
}

template <class T>
void fill_uniform(std::uint64_t seed, std::int64_t low, std::uint64_t values, std::int64_t first,
                  std::int64_t count, void* out) {
  T* elements = static_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = bits_at(seed, static_cast<std::uint64_t>(first + i)) >> 32;
    elements[i] = static_cast<T>(low + static_cast<std::int64_t>((bits * values) >> 32));
  }
}

}  // namespace

std::uint64_t weight_seed(std::uint64_t seed, std::string_view key) {
  std::uint64_t hash = mix(seed + golden);
  for (const char c : key) hash = mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

NormalSpread normal_spread(std::string_view key, std::span<const std::int64_t> shape) {
  if (shape.size() <= 1) {
    constexpr float vector_scale = 0.1f;
    constexpr std::array<std::string_view, 4> gains = {"weight", "gamma", "gain", "scale"};
    const std::string_view last = key.substr(key.rfind('.') + 1);
    return {std::find(gains.begin(), gains.end(), last) != gains.end() ? 1.0f : 0.0f, vector_scale};
  }
  double fan_in = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
  return {0, fan_in > 0 ? static_cast<float>(1 / std::sqrt(fan_in)) : 1.0f};
}

void fill_random(DType dtype, std::uint64_t seed, NormalSpread spread, std::int64_t first,
                 std::int64_t count, void* out) {
  const bool is_filled = graph::with_element_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      fill_normal(seed, spread, first, count, static_cast<T*>(out));
    else if constexpr (std::is_same_v<T, std::int8_t>)
      fill_uniform<T>(seed, -127, 255, first, count, out);
    else
      fill_uniform<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>(seed, 0, 2, first,
                                                                                 count, out);
  });
  if (is_filled) return;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  fill_normal(seed, spread, first, count, numbers.data());
  rkernel::convert(DType::f32, numbers.data(), dtype, out, count);
}

}  // namespace dyn::runtime
