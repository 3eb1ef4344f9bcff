#pragma once
// Division and multiples of sizes. Dividends are not negative, divisors are positive.

#include <cstdint>

namespace dyn {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// The least multiple of `b` that is not below `a`.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace dyn
