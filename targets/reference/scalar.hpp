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
std::int64_t mod(std::int64_t a, std::int64_t b);
/// Truncates towards zero.
std::int64_t divide(std::int64_t a, std::int64_t b);
std::int64_t power(std::int64_t base, std::int64_t exponent);
/// Truncates, saturates at the ends of `to`, NaN gives 0.
std::int64_t to_integer(double x, DType to);
/// Keeps the low bits that `to` has.
std::int64_t truncate_bits(std::int64_t x, DType to);

}  // namespace dyn::reference::scalar
