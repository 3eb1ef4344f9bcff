// When is a float near enough to what float64 gives?

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tests/kernels/compare.hpp"

namespace dyn::testing {
namespace {

constexpr double eps = std::numeric_limits<float>::epsilon();
/// Kernels may flush what is smaller to 0.
constexpr double smallest = std::numeric_limits<float>::min();
constexpr double largest = std::numeric_limits<float>::max();

bool near(float actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isnan(actual)) return false;
  // At the end of f32's range either neighbour of the exact value will do, infinity included.
  if (std::fabs(expected) > largest * (1 - 16 * eps)) {
    return std::signbit(actual) == std::signbit(expected) &&
           std::fabs(static_cast<double>(actual)) >= largest * (1 - 32 * eps);
  }
  return std::fabs(static_cast<double>(actual) - expected) <= tolerance + smallest;
}

template <class T>
std::string integer_difference(const Tensor& actual, const reference::Array& expected) {
  const auto* values = static_cast<const T*>(actual.raw());
  for (std::size_t i = 0; i < expected.integers.size(); ++i) {
    if (values[i] != expected.integers[i]) {
      return fmt::format("element {} is {}, expected {}", i, static_cast<std::int64_t>(values[i]), expected.integers[i]);
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
  switch (actual.dtype()) {
    case DType::boolean: return integer_difference<std::uint8_t>(actual, expected);
    case DType::i32: return integer_difference<std::int32_t>(actual, expected);
    case DType::i64: return integer_difference<std::int64_t>(actual, expected);
    default: break;
  }
  const auto values = actual.data<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double tolerance = factor * eps * scales[i];
    if (!near(values[i], expected.floats[i], tolerance)) {
      return fmt::format("element {} of {} is {:.9g}, expected {:.9g}, tolerance {:.3g}", i, to_string(actual.shape()),
                         values[i], expected.floats[i], tolerance);
    }
  }
  return {};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace dyn::testing
