#include "graph/scalars.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

namespace dyn::graph {

std::int64_t wrapped(DType dtype, std::uint64_t value) {
  std::int64_t result = 0;
  with_element_type(dtype, [&](auto zero) {
    if constexpr (!std::is_floating_point_v<decltype(zero)>) result = static_cast<std::int64_t>(static_cast<decltype(zero)>(value));
  });
  return result;
}

std::int64_t saturated(DType dtype, double number) {
  if (std::isnan(number)) return 0;
  if (dtype == DType::boolean) return number != 0;
  std::int64_t result = 0;
  with_element_type(dtype, [&](auto zero) {
    if constexpr (!std::is_floating_point_v<decltype(zero)>) {
      using Limits = std::numeric_limits<decltype(zero)>;
      // The greatest 64-bit integers are no doubles: as one they are the power of two behind them.
      if (number >= static_cast<double>(Limits::max())) result = static_cast<std::int64_t>(Limits::max());
      else if (number <= static_cast<double>(Limits::lowest())) result = static_cast<std::int64_t>(Limits::lowest());
      else result = static_cast<std::int64_t>(static_cast<decltype(zero)>(number));
    }
  });
  return result;
}

std::int64_t least(DType dtype) { return saturated(dtype, dtype == DType::boolean ? 0 : -std::numeric_limits<double>::infinity()); }

std::int64_t greatest(DType dtype) { return saturated(dtype, std::numeric_limits<double>::infinity()); }

double as_number(DType dtype, std::int64_t integer) {
  return dtype == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(integer)) : static_cast<double>(integer);
}

std::string integer_text(DType dtype, std::int64_t integer) {
  return dtype == DType::u64 ? std::to_string(static_cast<std::uint64_t>(integer)) : std::to_string(integer);
}

double rounded(DType dtype, double number) { return dtype == DType::f64 ? number : static_cast<double>(static_cast<float>(number)); }

}  // namespace dyn::graph
