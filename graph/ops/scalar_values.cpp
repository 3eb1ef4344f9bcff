#include "graph/ops/scalar_values.hpp"

#include <limits>

namespace dyn::graph::scalar {

double round_half_even(double x) {
  const double down = std::floor(x);
  const double rest = x - down;
  if (rest < 0.5) return down;
  if (rest > 0.5) return down + 1;
  if (!std::isfinite(x)) return x;
  return std::fmod(down, 2) == 0 ? down : down + 1;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return a > b ? a : b;
}

double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return a < b ? a : b;
}

double mod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

namespace {

using u64 = std::uint64_t;

int bits_of(DType dtype) { return static_cast<int>(size_of(dtype)) * 8; }

}  // namespace

bool less(DType dtype, std::int64_t a, std::int64_t b) {
  return dtype == DType::u64 ? u64(a) < u64(b) : a < b;
}

std::int64_t mod(DType dtype, std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (dtype == DType::u64) return static_cast<std::int64_t>(u64(a) % u64(b));
  if (b == -1) return 0;
  const auto rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t divide(DType dtype, std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (dtype == DType::u64) return static_cast<std::int64_t>(u64(a) / u64(b));
  if (b == -1) return static_cast<std::int64_t>(0 - u64(a));
  return a / b;
}

std::int64_t power(DType dtype, std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 && dtype != DType::u64)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  u64 result = 1;
  auto square = u64(base);
  for (u64 left = u64(exponent); left > 0; left /= 2, square *= square) {
    if (left % 2 == 1) result *= square;
  }
  return static_cast<std::int64_t>(result);
}

std::int64_t shift_left(DType dtype, std::int64_t a, std::int64_t b) {
  return b < 0 || b >= bits_of(dtype) ? 0 : static_cast<std::int64_t>(u64(a) << b);
}

std::int64_t shift_right(DType dtype, std::int64_t a, std::int64_t b) {
  const bool far = b < 0 || b >= bits_of(dtype);
  if (dtype == DType::u64) return far ? 0 : static_cast<std::int64_t>(u64(a) >> b);
  return far ? (a < 0 ? -1 : 0) : a >> b;
}

}  // namespace dyn::graph::scalar
