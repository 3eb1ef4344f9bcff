#pragma once
// The values of scalar operators that C++ has no operator for. Folding of constants and the
// reference use them.

#include <cmath>
#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::graph::scalar {

/// The nearest integer; halves go to the even one.
double round_half_even(double x);
double sigmoid(double x);
/// NaN where either is NaN.
double maximum(double a, double b);
double minimum(double a, double b);
/// The remainder with the divisor's sign.
double mod(double a, double b);

// Operators on integers in an std::int64_t. A u64 is there as the same bits, so operators that
// treat it differently take the dtype.

bool less(DType dtype, std::int64_t a, std::int64_t b);
/// The remainder with the divisor's sign; 0 where b is 0.
std::int64_t mod(DType dtype, std::int64_t a, std::int64_t b);
/// Truncates toward zero; 0 where b is 0.
std::int64_t divide(DType dtype, std::int64_t a, std::int64_t b);
std::int64_t power(DType dtype, std::int64_t base, std::int64_t exponent);
/// 0 where b is negative, or no less than the dtype has bits.
std::int64_t shift_left(DType dtype, std::int64_t a, std::int64_t b);
/// Rounds down. Where b is negative, or no less than the dtype has bits, gives -1 for a negative
/// number and else 0.
std::int64_t shift_right(DType dtype, std::int64_t a, std::int64_t b);

/// These wrap around.
inline std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline std::int64_t negate(std::int64_t a) { return wrap(0 - static_cast<std::uint64_t>(a)); }
inline std::int64_t add(std::int64_t a, std::int64_t b) {
  return wrap(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t subtract(std::int64_t a, std::int64_t b) {
  return wrap(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace dyn::graph::scalar
