// Tells whether a float is near enough to float64's result.

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "tests/kernels/compare.hpp"

namespace dyn::testing {
namespace {

struct Limits {
  double eps, smallest, largest;  ///< `smallest`: kernels may flush smaller numbers to 0
};

Limits limits_of(DType dtype) {
  using F32 = std::numeric_limits<float>;
  using F64 = std::numeric_limits<double>;
  switch (dtype) {
    case DType::f64: return {F64::epsilon(), F64::min(), F64::max()};
    case DType::f16: return {0x1p-10, 0x1p-14, 65504};
    case DType::bf16: return {0x1p-7, 0x1p-126, 0x1.fep127};
    default: return {F32::epsilon(), F32::min(), F32::max()};
  }
}

bool near(double actual, double expected, double tolerance, const Limits& limits) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isnan(actual)) return false;
  // At the end of the range either neighbour of the exact value will do, infinity included.
  if (std::fabs(expected) > limits.largest * (1 - 16 * limits.eps)) {
    return std::signbit(actual) == std::signbit(expected) &&
           std::fabs(actual) >= limits.largest * (1 - 32 * limits.eps);
  }
  return std::fabs(actual - expected) <= tolerance + limits.smallest;
}

template <class T>
std::string integer_difference(const Tensor& actual, const reference::Array& expected) {
  const auto* values = static_cast<const T*>(actual.raw());
  for (std::size_t i = 0; i < expected.integers.size(); ++i) {
    if (static_cast<std::int64_t>(values[i]) != expected.integers[i]) {
      return fmt::format("element {} is {}, expected {}", i, static_cast<std::int64_t>(values[i]),
                         expected.integers[i]);
    }
  }
  return {};
}

std::string float_difference(const Tensor& actual, const reference::Array& expected, double factor,
                             const std::vector<double>& scales) {
  const Limits limits = limits_of(actual.dtype());
  const std::vector<double> values = reference::from_tensor(actual).floats;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double tolerance = factor * limits.eps * scales[i];
    if (!near(values[i], expected.floats[i], tolerance, limits)) {
      return fmt::format("element {} of {} is {:.9g}, expected {:.9g}, tolerance {:.3g}", i,
                         to_string(actual.shape()), values[i], expected.floats[i], tolerance);
    }
  }
  return {};
}

}  // namespace

std::string difference(const Tensor& actual, const reference::Array& expected, double factor,
                       const std::vector<double>& scales) {
  if (actual.dtype() != expected.dtype) return "the dtype differs";
  if (actual.shape() != expected.dims) {
    return fmt::format("the shape is {}, expected {}", to_string(actual.shape()),
                       to_string(expected.dims));
  }
  if (is_float(actual.dtype())) return float_difference(actual, expected, factor, scales);
  std::string text;
  graph::with_element_type(actual.dtype(), [&](auto zero) {
    using T = decltype(zero);
    text = integer_difference<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>(
        actual, expected);
  });
  return text;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace dyn::testing
