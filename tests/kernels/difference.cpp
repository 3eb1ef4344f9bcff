// When is a float near enough to what float64 gives?

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "graph/scalars.hpp"
#include "tests/kernels/compare.hpp"

namespace dyn::testing {
namespace {

template <class T>
constexpr double eps = std::numeric_limits<T>::epsilon();

template <class T>
bool near(T actual, double expected, double tolerance) {
  // Kernels may flush what is smaller to 0.
  constexpr double smallest = std::numeric_limits<T>::min(), largest = std::numeric_limits<T>::max();
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isnan(actual)) return false;
  // At the end of the range either neighbour of the exact value will do, infinity included.
  if (std::fabs(expected) > largest * (1 - 16 * eps<T>)) {
    return std::signbit(actual) == std::signbit(expected) &&
           std::fabs(static_cast<double>(actual)) >= largest * (1 - 32 * eps<T>);
  }
  return std::fabs(static_cast<double>(actual) - expected) <= tolerance + smallest;
}

template <class T>
std::string integer_difference(const Tensor& actual, const reference::Array& expected) {
  const auto* values = static_cast<const T*>(actual.raw());
  for (std::size_t i = 0; i < expected.integers.size(); ++i) {
    if (static_cast<std::int64_t>(values[i]) != expected.integers[i]) {
      return fmt::format("element {} is {}, expected {}", i, static_cast<std::int64_t>(values[i]), expected.integers[i]);
    }
  }
  return {};
}

template <class T>
std::string float_difference(const Tensor& actual, const reference::Array& expected, double factor, const std::vector<double>& scales) {
  const auto values = actual.data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double tolerance = factor * eps<T> * scales[i];
    if (!near(values[i], expected.floats[i], tolerance)) {
      return fmt::format("element {} of {} is {:.9g}, expected {:.9g}, tolerance {:.3g}", i, to_string(actual.shape()), values[i], expected.floats[i], tolerance);
    }
  }
  return {};
}

}  // namespace

std::string difference(const Tensor& actual, const reference::Array& expected, double factor,
                       const std::vector<double>& scales) {
  if (actual.dtype() != expected.dtype) return "the dtype differs";
  if (actual.shape() != expected.dims) {
    return fmt::format("the shape is {}, expected {}", to_string(actual.shape()), to_string(expected.dims));
  }
  std::string text;
  graph::with_element_type(actual.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) text = float_difference<T>(actual, expected, factor, scales);
    else text = integer_difference<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>(actual, expected);
  });
  return text;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace dyn::testing
