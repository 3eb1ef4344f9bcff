#pragma once
// Comparisons of doubles that may be very small: seconds.

#include <doctest/doctest.h>

namespace dyn::testing {

/// Equal but for a 10^-5 of the value itself; 0 equals 0. Approx alone allows 10^-5 of one more,
/// and so any number of microseconds.
inline doctest::Approx relative(double value) { return doctest::Approx(value).scale(1e-300); }

/// The share of a value by which sums and products of doubles, taken in another order, may differ.
inline constexpr double rounding = 1e-9;

}  // namespace dyn::testing
