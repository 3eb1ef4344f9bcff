#pragma once
// Compares doubles that may be very small, such as seconds.

#include <doctest/doctest.h>

namespace dyn::testing {

/// Equal up to 10^-5 of the value itself; 0 equals 0. Approx alone allows 10^-5 of (1 + value), and
/// so any number of microseconds.
inline doctest::Approx relative(double value) { return doctest::Approx(value).scale(1e-300); }

/// The share of a value by which sums and products of doubles, taken in another order, may differ.
inline constexpr double rounding = 1e-9;

}  // namespace dyn::testing
