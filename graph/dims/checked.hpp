#pragma once
// Integer arithmetic that saturates, or rounds as dims do.

#include <cstdint>
#include <limits>
#include <numeric>

namespace dyn::graph {

inline constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? int64_min : int64_max;
}

inline std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? int64_max : int64_min;
}

inline std::int64_t saturating_negate(std::int64_t a) { return a == int64_min ? int64_max : -a; }

/// Rounds toward minus infinity. b is not 0; saturates for the one quotient that overflows.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return saturating_negate(a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// a - b * floor(a / b): has the sign of b. b is not 0.
inline std::int64_t floor_modulo(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Greatest common divisor of the absolute values; the least integer counts as the greatest.
inline std::int64_t common_divisor(std::int64_t a, std::int64_t b) {
  const auto absolute = [](std::int64_t x) { return x < 0 ? saturating_negate(x) : x; };
  return std::gcd(absolute(a), absolute(b));
}

}  // namespace dyn::graph
