#include "graph/ir/scalars.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "graph/ir/codes.hpp"

namespace dyn::graph {

std::int64_t wrapped(DType dtype, std::uint64_t value) {
  std::int64_t result = 0;
  with_element_type(dtype, [&](auto zero) {
    if constexpr (!std::is_floating_point_v<decltype(zero)>)
      result = static_cast<std::int64_t>(static_cast<decltype(zero)>(value));
  });
  return result;
}

std::int64_t saturated(DType dtype, double number) {
  if (dtype == DType::boolean) return number != 0;  // NaN is not 0
  if (std::isnan(number)) return 0;
  std::int64_t result = 0;
  with_element_type(dtype, [&](auto zero) {
    if constexpr (!std::is_floating_point_v<decltype(zero)>) {
      using Limits = std::numeric_limits<decltype(zero)>;
      // The greatest 64-bit integers are no doubles: each becomes the power of two that follows it.
      if (number >= static_cast<double>(Limits::max()))
        result = static_cast<std::int64_t>(Limits::max());
      else if (number <= static_cast<double>(Limits::lowest()))
        result = static_cast<std::int64_t>(Limits::lowest());
      else
        result = static_cast<std::int64_t>(static_cast<decltype(zero)>(number));
    }
  });
  return result;
}

std::int64_t least(DType dtype) {
  if (const int bits = integer_code_bits(dtype); bits > 0)
    return is_signed_code(dtype) ? -(std::int64_t{1} << (bits - 1)) : 0;
  return saturated(dtype, dtype == DType::boolean ? 0 : -std::numeric_limits<double>::infinity());
}

std::int64_t greatest(DType dtype) {
  if (const int bits = integer_code_bits(dtype); bits > 0)
    return (std::int64_t{1} << (is_signed_code(dtype) ? bits - 1 : bits)) - 1;
  return saturated(dtype, std::numeric_limits<double>::infinity());
}

double as_number(DType dtype, std::int64_t integer) {
  return dtype == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(integer))
                             : static_cast<double>(integer);
}

std::string integer_text(DType dtype, std::int64_t integer) {
  return dtype == DType::u64 ? std::to_string(static_cast<std::uint64_t>(integer))
                             : std::to_string(integer);
}

double rounded(DType dtype, double number) {
  if (dtype == DType::f64) return number;
  return is_half(dtype) ? float_of_code(dtype, code_of_float(dtype, number))
                        : static_cast<double>(static_cast<float>(number));
}

}  // namespace dyn::graph
