#pragma once
// The scalar functions behind the element-wise operators.

#include <cmath>
#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::reference::scalar {

/// The nearest integer; halves go to the even one.
double round_half_even(double x);
double gelu_erf(double x);
double gelu_tanh(double x);
double sigmoid(double x);
/// NaN where either is NaN.
double maximum(double a, double b);
double minimum(double a, double b);
/// The remainder with the divisor's sign.
double mod(double a, double b);

// Of integers in an std::int64_t; those of u64 as the same bits, which is why operators that are not the same for them take the dtype.

bool less(DType dtype, std::int64_t a, std::int64_t b);
/// The remainder with the divisor's sign; 0 where b is 0.
std::int64_t mod(DType dtype, std::int64_t a, std::int64_t b);
/// Truncates towards zero; 0 where b is 0.
std::int64_t divide(DType dtype, std::int64_t a, std::int64_t b);
std::int64_t power(DType dtype, std::int64_t base, std::int64_t exponent);
/// 0 where b is negative, or no less than the dtype has bits.
std::int64_t shift_left(DType dtype, std::int64_t a, std::int64_t b);
/// Rounds down; where b is negative, or no less than the dtype has bits, 0, and -1 of a negative number.
std::int64_t shift_right(DType dtype, std::int64_t a, std::int64_t b);
/// Sums and products wrap around.
inline std::int64_t add(DType, std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)); }
inline std::int64_t multiply(DType, std::int64_t a, std::int64_t b) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); }
inline std::int64_t largest(DType dtype, std::int64_t a, std::int64_t b) { return less(dtype, a, b) ? b : a; }
inline std::int64_t smallest(DType dtype, std::int64_t a, std::int64_t b) { return less(dtype, b, a) ? b : a; }
/// Truncates, saturates at the ends of `to`, NaN gives 0.
std::int64_t to_integer(double x, DType to);
double to_number(std::int64_t x, DType from);
/// Keeps the low bits that `to` has.
std::int64_t truncate_bits(std::int64_t x, DType to);
/// The ends of an integer dtype.
std::int64_t lowest(DType dtype);
std::int64_t highest(DType dtype);

}  // namespace dyn::reference::scalar
